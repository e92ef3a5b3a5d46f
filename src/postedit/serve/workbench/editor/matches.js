/** Corrections of the project that are similar to the current segment. */
import { signal } from "../lib.js";
import { ApiError, get } from "../data/api.js";

export class Matches {
  /** @param {import("./editing.js").Editing} editing */
  constructor(editing) {
    this.editing = editing;
    /** @type {import("../lib.js").Signal<{src: string, mt: string, target: string, score: number, origin: string}[]>} */
    this.found = signal([]);
  }

  /** Find the matches of the current segment. */
  async find() {
    this.asked?.abort();
    this.found.value = [];
    const { signal: over } = (this.asked = new AbortController());
    try {
      const { matches } = await get(`${this.editing.cache.path}/${this.editing.number}/matches`, { signal: over });
      if (!over.aborted) this.found.value = matches;
    } catch (error) {
      if (!(error instanceof ApiError) && error.name !== "AbortError") throw error; // matches are optional
    }
  }
}
