/** Handles events of a file: segments that were changed, here or elsewhere, are fetched again. */

const GATHERED = 30; // milliseconds in which events are handled together

export class News {
  /** @param {import("./editing.js").Editing} editing */
  constructor(editing) { this.editing = editing; }

  /** Handle an event of the project. @param {string} kind @param {any} data */
  heard(kind, data) {
    const { cache, file, presence } = this.editing;
    if (data.file !== file) return;
    if (kind === "presence") presence.heard(data);
    if (kind !== "segment") return;
    const [first] = data.numbers;
    const isKnown = (number) => number === first && !data.proposal && cache.peek(number)?.version >= data.version;
    cache.stale(data.numbers.filter((number) => !isKnown(number)));
    this.gathering ??= setTimeout(() => { // many events arrive together
      this.gathering = undefined;
      this.fetchStale();
    }, GATHERED);
  }

  /** Fetch changed segments again: those on screen now, others once they are shown. @param {number[]} numbers */
  refresh(numbers) {
    this.editing.cache.stale(numbers);
    return this.fetchStale();
  }

  /** Fetch all known segments again as `refresh` does, since they may be out of date. */
  missed() {
    const { known, asked, reloading } = this.editing.cache;
    return this.refresh([...known.keys(), ...asked, ...reloading]);
  }

  /** Ask again for what could not be fetched while the service could not be reached. */
  returned() {
    const { cache, problem } = this.editing;
    if (problem.value?.isPassing) problem.value = null;
    if (cache.problem.value) cache.choose(cache.filter.value);
  }

  async fetchStale() {
    const { cache, number, visible } = this.editing;
    await cache.fetchStale([number]); // separately, as it may be far from those on screen
    await cache.fetchStale(visible);
  }
}
