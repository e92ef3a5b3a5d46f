/** What the browser keeps. It may forbid that, or have no room left: work goes on without. */

const NONE = {
  length: 0,
  key: () => null,
  getItem: () => null,
  setItem: () => { throw new Error("the browser keeps nothing"); },
  removeItem: () => {},
};

/** Return a storage, or one that keeps nothing if the browser forbids it. @param {"localStorage"|"sessionStorage"} name */
function storageOf(name) {
  try {
    return globalThis[name] ?? NONE;
  } catch {
    return NONE; // even to look at it is forbidden
  }
}

export const ofBrowser = storageOf("localStorage");
export const ofTab = storageOf("sessionStorage");

/** Keep a value; return whether the browser did. @param {Storage} storage @param {string} key @param {string} value */
export function keep(storage, key, value) {
  try {
    storage.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}
