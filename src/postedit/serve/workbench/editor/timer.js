/** Measures seconds of work on each segment, only with consent, and only while keys or the mouse are used. */
import { keep, ofBrowser, ofTab } from "../data/browser_storage.js";
import { signal } from "../lib.js";

const IDLE = 30_000; // milliseconds without a sign of work, after which the clock stops
const KEY = "postedit.timer";

/** The consent: "yes", "no", or "" before the question is answered. */
export const consent = signal(ofBrowser.getItem(KEY) ?? "");

/** @param {"yes"|"no"} answer */
export function answerConsent(answer) {
  keep(ofBrowser, KEY, answer);
  consent.value = answer;
}

export class Timer {
  /** @param {string} file  its unsaved times are kept if the page is reloaded */
  constructor(file) {
    this.key = `postedit.seconds.${file}`;
    /** Milliseconds that have not been saved with a decision, by segment. @type {Map<number, number>} */
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

  /** Count time for another segment from now on. @param {number} number */
  turnTo(number) {
    this.#work();
    this.number = number;
  }

  /** Return the seconds spent on a segment since the last call; undefined without consent. @param {number} number */
  take(number) {
    this.#work();
    const seconds = Math.round((this.worked.get(number) ?? 0) / 100) / 10;
    this.worked.delete(number);
    return consent.value === "yes" ? seconds : undefined;
  }

  /** Give back seconds that were taken but not saved. @param {number} number @param {number | undefined} seconds */
  giveBack(number, seconds) {
    if (seconds) this.worked.set(number, (this.worked.get(number) ?? 0) + 1000 * seconds);
  }

  /** Keep unsaved times in the browser, for a reload of the page. */
  keep() {
    this.#work();
    if (this.worked.size && consent.value === "yes") keep(ofTab, this.key, JSON.stringify([...this.worked]));
    else ofTab.removeItem(this.key);
  }

  #work() {
    const now = consent.value === "yes" ? performance.now() : 0; // time before consent does not count
    if (this.last && now && now - this.last < IDLE && this.number !== null) {
      this.worked.set(this.number, (this.worked.get(this.number) ?? 0) + now - this.last);
    }
    this.last = now;
  }
}
