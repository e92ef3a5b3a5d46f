/** Seconds of work on a segment: counted only with consent, while keys or the mouse are used. */
import { keep, ofBrowser, ofTab } from "../data/browser_storage.js";
import { signal } from "../lib.js";

const IDLE = 30_000; // milliseconds without a sign of work, after which the clock stands
const KEY = "postedit.timer";

/** "yes", "no", or "" while not asked. */
export const consent = signal(ofBrowser.getItem(KEY) ?? "");

/** @param {"yes"|"no"} answer */
export function answerConsent(answer) {
  keep(ofBrowser, KEY, answer);
  consent.value = answer;
}

export class Timer {
  /** @param {string} file  what was counted in it and is not saved outlives the page */
  constructor(file) {
    this.key = `postedit.seconds.${file}`;
    /** By segment: milliseconds that no save has taken. @type {Map<number, number>} */
    this.worked = new Map(JSON.parse(ofTab.getItem(this.key) ?? "[]"));
    this.number = null;
    this.last = 0;
    this.onWork = () => this.#work();
    for (const name of ["keydown", "pointerdown", "pointermove", "wheel"]) addEventListener(name, this.onWork, { passive: true });
  }

  close() {
    this.keep();
    for (const name of ["keydown", "pointerdown", "pointermove", "wheel"]) removeEventListener(name, this.onWork);
  }

  /** Count for another segment from now on. @param {number} number */
  turnTo(number) {
    this.#work();
    this.number = number;
  }

  /** Return the seconds of all visits to a segment since the last call, undefined without consent. @param {number} number */
  take(number) {
    this.#work();
    const seconds = Math.round((this.worked.get(number) ?? 0) / 100) / 10;
    this.worked.delete(number);
    return consent.value === "yes" ? seconds : undefined;
  }

  /** Count seconds again that were taken and not saved. @param {number} number @param {number | undefined} seconds */
  giveBack(number, seconds) {
    if (seconds) this.worked.set(number, (this.worked.get(number) ?? 0) + 1000 * seconds);
  }

  /** Let the browser keep what was counted, for when the page is loaded again. */
  keep() {
    this.#work();
    if (this.worked.size && consent.value === "yes") keep(ofTab, this.key, JSON.stringify([...this.worked]));
    else ofTab.removeItem(this.key);
  }

  #work() {
    const now = consent.value === "yes" ? performance.now() : 0; // what was before consent does not count
    if (this.last && now && now - this.last < IDLE && this.number !== null) {
      this.worked.set(this.number, (this.worked.get(this.number) ?? 0) + now - this.last);
    }
    this.last = now;
  }
}
