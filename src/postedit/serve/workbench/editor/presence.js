/** Presence: on which segments of a file other people are working. */
import { signal } from "../lib.js";
import { ApiError, request } from "../data/api.js";

const EVERY = 20_000; // milliseconds between signs of presence
const NOWHERE = 0; // not a segment number: the person has left

export class Presence {
  /** @param {string} file @param {string} user  the name of who works here @param {() => number | null} present the current segment; null: this person is not shown */
  constructor(file, user, present) {
    this.path = `/v1/files/${file}/presence`;
    Object.assign(this, { file, user, present });
    /** By name. @type {import("../lib.js").Signal<Map<string, {number: number, time: number}>>} */
    this.others = signal(new Map());
    this.timer = setInterval(() => { this.show(); this.#forgetGone(); }, EVERY);
    this.listening = new AbortController();
    const { signal: over } = this.listening;
    addEventListener("pagehide", () => this.#leave(), { signal: over });
    addEventListener("pageshow", (event) => { if (event.persisted) this.show(); }, { signal: over });
    document.addEventListener("visibilitychange", () => this.show(), { signal: over });
  }

  close() {
    clearInterval(this.timer);
    this.listening.abort();
    this.#leave();
  }

  #leave() { if (this.present() !== null) this.#tell(NOWHERE, { keepalive: true }); }

  #tell(number, options) {
    request("POST", this.path, { body: { number }, ...options }).catch((error) => {
      if (!(error instanceof ApiError)) throw error; // it will be sent again, unless the file is gone
    });
  }

  /** Show others where this person is. */
  show() {
    const number = this.present();
    if (number === null || document.visibilityState === "hidden") return;
    this.#tell(number);
  }

  /** @param {{who: string, segment: number}} data of an event */
  heard({ who, segment }) {
    if (who === this.user) {
      if (segment === NOWHERE) this.show(); // another tab of this person was closed, but this one is open
      return;
    }
    const others = new Map(this.others.value);
    if (segment === NOWHERE) others.delete(who);
    else others.set(who, { number: segment, time: Date.now() });
    this.others.value = others;
  }

  /** Forget people without a recent sign of presence. */
  #forgetGone() {
    const isHere = ([, { time }]) => Date.now() - time <= 3 * EVERY;
    if (![...this.others.value].every(isHere)) this.others.value = new Map([...this.others.value].filter(isHere));
  }

  /** Return the names of the people on a segment. @param {number} number */
  on(number) {
    return [...this.others.value].filter(([, place]) => place.number === number).map(([name]) => name);
  }
}
