/** Addresses of views: what follows `#` in the address bar, so that a page can be kept, sent and gone back to. */
import { signal } from "../lib.js";

/** The parts of the address. @type {import("../lib.js").Signal<string[]>} */
export const route = signal(read());

function read() {
  return location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
}

addEventListener("hashchange", () => { route.value = read(); });

/** Return the address of a view. @param {...(string|number)} parts */
export const address = (...parts) => `#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;

/** Go to a view. @param {...(string|number)} parts */
export const go = (...parts) => { location.hash = address(...parts); };

/** Change the address without a step to go back to. @param {...(string|number)} parts */
export function replaceAddress(...parts) {
  history.replaceState(null, "", address(...parts));
  route.value = read();
}
