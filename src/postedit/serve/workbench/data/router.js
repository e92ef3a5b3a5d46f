/** Addresses of views: what follows `#` in the address bar, so that a page can be kept, sent and gone back to. */
import { signal } from "../lib.js";

/** The parts of the address. @type {import("../lib.js").Signal<string[]>} */
export const route = signal(read());

function read() {
  return location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
}

/** Whether the view has something that is not saved, so that a person is asked before it is left. */
export const hasUnsaved = signal(false);

/** The address to go to if a person says that they leave; null while nobody has to. @type {import("../lib.js").Signal<string | null>} */
export const leaving = signal(null);

addEventListener("hashchange", () => {
  const isElsewhere = address(...read()) !== address(...route.value);
  if (hasUnsaved.value && isElsewhere) {
    leaving.value = location.hash;
    history.replaceState(null, "", address(...route.value));
  } else route.value = read();
});
addEventListener("beforeunload", (event) => { if (hasUnsaved.value) event.preventDefault(); });

/** Go where a person wanted to go. */
export function leave() {
  const wanted = leaving.value;
  hasUnsaved.value = false;
  leaving.value = null;
  location.hash = wanted;
}

/** Return the address of a view. @param {...(string|number)} parts */
export const address = (...parts) => `#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;

/** Go to a view. @param {...(string|number)} parts */
export const go = (...parts) => { location.hash = address(...parts); };

/** Change the address without a step to go back to. @param {...(string|number)} parts */
export function replaceAddress(...parts) {
  history.replaceState(null, "", address(...parts));
  route.value = read();
}
