/** Addresses of views, which are in the URL after `#`, so that they can be bookmarked, shared and gone back to. */
import { signal } from "../lib.js";

/** The parts of the address. @type {import("../lib.js").Signal<string[]>} */
export const route = signal(read());

function read() {
  return location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decoded);
}

/** Return a part as it is if it cannot be decoded: there is nothing at such an address. @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Return whether a part may be the id of something, as the service makes them; others, such as `..`, would lead elsewhere. @param {string} [part] */
export const isId = (part) => /^[\w-]{1,32}$/.test(part ?? "");

/** Return the number that a part is; null if no segment can have it. @param {string} [part] */
export const numberOf = (part) => (/^0*[1-9]\d{0,8}$/.test(part ?? "") ? Number(part) : null);

/** Whether the view has unsaved changes, so that people are asked before they leave it. */
export const hasUnsaved = signal(false);

/** Steps in the history that a person wants to go: 1 for a link, -1 for Back; null if nobody is to be asked. @type {import("../lib.js").Signal<number | null>} */
export const leaving = signal(null);

let place = history.state?.place ?? numbered(0); // number of the current history entry

/** Number the current history entry, so that the steps of Back, Forward or a link can be counted. */
function numbered(number) {
  history.replaceState({ place: number }, "");
  return number;
}

addEventListener("hashchange", () => {
  const reached = history.state?.place ?? numbered(place + 1); // the entry that a link has made has no number yet
  const isElsewhere = address(...read()) !== address(...route.value);
  if (hasUnsaved.value && isElsewhere) {
    leaving.value = reached - place;
    history.go(place - reached);
  } else {
    place = reached;
    if (isElsewhere) route.value = read();
  }
});
addEventListener("beforeunload", (event) => { if (hasUnsaved.value) event.preventDefault(); });

/** Go where the person wanted to go, without asking again. */
export function leave() {
  const steps = leaving.value;
  hasUnsaved.value = false;
  leaving.value = null;
  history.go(steps);
}

/** Return the address of a view. @param {...(string|number)} parts */
export const address = (...parts) => `#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;

/** Go to a view. @param {...(string|number)} parts */
export const go = (...parts) => { location.hash = address(...parts); };

/** Change the address without a new history entry. @param {...(string|number)} parts */
export function replaceAddress(...parts) {
  history.replaceState(history.state, "", address(...parts));
  route.value = read();
}
