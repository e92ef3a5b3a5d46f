/** Seconds of work on a segment: counted only with consent, while keys or the mouse are used. */
import { keep, ofBrowser } from "../data/browser_storage.js";
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
  constructor() {
    this.worked = 0;
    this.last = 0;
    this.onWork = () => this.#work();
    for (const name of ["keydown", "pointerdown", "pointermove", "wheel"]) addEventListener(name, this.onWork, { passive: true });
  }

  close() {
    for (const name of ["keydown", "pointerdown", "pointermove", "wheel"]) removeEventListener(name, this.onWork);
  }

  /** Return the seconds since the last call, undefined without consent. */
  take() {
    this.#work();
    const seconds = Math.round(this.worked / 100) / 10;
    this.worked = 0;
    return consent.value === "yes" ? seconds : undefined;
  }

  #work() {
    const now = performance.now();
    if (this.last && now - this.last < IDLE) this.worked += now - this.last;
    this.last = now;
  }
}
