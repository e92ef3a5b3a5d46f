/** Addresses of views: what follows `#` in the address bar, so that a page can be kept, sent and gone back to. */
import { signal } from "../lib.js";

/** The parts of the address. @type {import("../lib.js").Signal<string[]>} */
export const route = signal(read());

function read() {
  return location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
}

/** Whether the view has something that is not saved, so that a person is asked before it is left. */
export const hasUnsaved = signal(false);

/** How far a person who leaves goes in the history: 1 for a link, -1 for Back; null while nobody has to. @type {import("../lib.js").Signal<number | null>} */
export const leaving = signal(null);

let place = history.state?.place ?? numbered(0); // of the present entry in the history

/** Number the present entry, so that it is known how far Back, Forward or a link went. */
function numbered(number) {
  history.replaceState({ place: number }, "");
  return number;
}

addEventListener("hashchange", () => {
  const reached = history.state?.place ?? numbered(place + 1); // the entry of a link has no number yet
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

/** Go where a person wanted to go. */
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

/** Change the address without a step to go back to. @param {...(string|number)} parts */
export function replaceAddress(...parts) {
  history.replaceState(history.state, "", address(...parts));
  route.value = read();
}
