/** Where the people who work on a file are. */
import { signal } from "../lib.js";
import { post } from "../data/api.js";

const EVERY = 20_000; // milliseconds between signs of presence

export class Presence {
  /** @param {string} file @param {string} user  the name of who works here @param {() => number | null} present */
  constructor(file, user, present) {
    Object.assign(this, { file, user, present });
    /** By name. @type {import("../lib.js").Signal<Map<string, {number: number, time: number}>>} */
    this.others = signal(new Map());
    this.timer = setInterval(() => this.show(), EVERY);
  }

  close() { clearInterval(this.timer); }

  /** Tell others where this person is. */
  show() {
    const number = this.present();
    if (number === null || document.visibilityState === "hidden") return;
    post(`/v1/files/${this.file}/presence`, { number }).catch((error) => {
      if (!error.isPassing && error.status !== 401) throw error; // it is told again
    });
  }

  /** @param {{who: string, segment: number}} data of an event */
  heard({ who, segment }) {
    if (who === this.user) return;
    const others = new Map(this.others.value);
    others.set(who, { number: segment, time: Date.now() });
    for (const [name, { time }] of others) if (Date.now() - time > 3 * EVERY) others.delete(name);
    this.others.value = others;
  }

  /** The names of those on a segment. @param {number} number */
  on(number) {
    return [...this.others.value].filter(([, place]) => place.number === number).map(([name]) => name);
  }
}
