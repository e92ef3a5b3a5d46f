/** What happens in a file meanwhile, here and elsewhere: segments that have changed are fetched again. */

const GATHERED = 30; // milliseconds in which events are taken together

export class News {
  /** @param {import("./editing.js").Editing} editing */
  constructor(editing) { this.editing = editing; }

  /** Take an event of the project. @param {string} kind @param {any} data */
  heard(kind, data) {
    const { cache, file, presence } = this.editing;
    if (data.file !== file) return;
    if (kind === "presence") presence.heard(data);
    if (kind !== "segment") return;
    const [first] = data.numbers;
    const isKnown = (number) => number === first && !data.proposal && cache.peek(number)?.version >= data.version;
    cache.stale(data.numbers.filter((number) => !isKnown(number)));
    this.gathering ??= setTimeout(() => { // many come together
      this.gathering = undefined;
      this.fetchStale();
    }, GATHERED);
  }

  /** Fetch segments again that have changed: those on screen now, others when they come to be shown. @param {number[]} numbers */
  refresh(numbers) {
    this.editing.cache.stale(numbers);
    return this.fetchStale();
  }

  /** Fetch all again that was fetched before, as `refresh` does: it may be old. */
  missed() {
    const { known, asked, reloading } = this.editing.cache;
    return this.refresh([...known.keys(), ...asked, ...reloading]);
  }

  async fetchStale() {
    const { cache, number, visible } = this.editing;
    await cache.fetchStale([number]); // apart: it may be far from those on screen
    await cache.fetchStale(visible);
  }
}
