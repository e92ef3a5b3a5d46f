/** Browser storage. It may be forbidden or full; the workbench works without it, too. */

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
    return NONE; // even access to it may throw
  }
}

export const ofBrowser = storageOf("localStorage");
export const ofTab = storageOf("sessionStorage");

/** Keeps the text that a person writes in a form, with the tag of the state it is to replace, until it is saved. */
export class KeptDraft {
  /** @param {string} user  drafts of another person are never shown @param {string} place  what the text is a draft of @param {Storage} storage */
  constructor(user, place, storage = ofBrowser) {
    this.key = `postedit.draft.${encodeURIComponent(user)}/${place}`;
    this.storage = storage;
    this.last = null; // the text that this page has read or kept here
  }

  /** @returns {{text: string, tag: string} | null} */
  read() {
    const found = this.#kept();
    this.last = found?.text ?? null;
    return found;
  }

  #kept() {
    try {
      return JSON.parse(this.storage.getItem(this.key) ?? "null");
    } catch {
      return null; // written by something else
    }
  }

  /** Keep a draft, unless another tab keeps another; return whether it is kept. @param {{text: string, tag: string}} draft */
  write(draft) {
    const kept = this.#kept();
    if (kept && kept.text !== this.last) return false;
    const isKept = keep(this.storage, this.key, JSON.stringify(draft));
    if (isKept) this.last = draft.text;
    return isKept;
  }

  /** Forget a draft, unless another tab has kept another one in its place. @param {{text: string, tag: string} | null} draft */
  forget(draft) {
    if (draft && this.#kept()?.text === draft.text) this.storage.removeItem(this.key);
  }
}

/** Store a value; return whether the browser did. @param {Storage} storage @param {string} key @param {string} value */
export function keep(storage, key, value) {
  try {
    storage.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}
