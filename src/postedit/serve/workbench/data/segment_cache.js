/** The segments of a file: the numbers of those that match a filter, and the segments looked at, fetched in pages. */
import { signal } from "../lib.js";
import { get, post, withQuery } from "./api.js";
import { isUndecided, readSegment, withProposal } from "./segment.js";

const PAGE = 60; // segments per request
const MOST = 4000; // segments kept; those fetched longest ago are dropped first

export class SegmentCache {
  /** @param {string} file @param {(segments: import("./segment.js").Segment[]) => void} onRenewed gets known segments that were fetched again */
  constructor(file, onRenewed = () => {}) {
    this.onRenewed = onRenewed;
    this.path = `/v1/files/${file}/segments`;
    this.file = file;
    this.filter = signal({ filter: "", q: "", from: "" });
    /** Numbers of the segments that match the filter; null before they are fetched. @type {import("../lib.js").Signal<number[]|null>} */
    this.numbers = signal(null);
    /** Numbers of all segments; null before they are fetched. @type {import("../lib.js").Signal<number[]|null>} */
    this.all = signal(null);
    /** @type {Map<number, import("./segment.js").Segment>} */
    this.known = new Map();
    this.version = signal(0); // incremented whenever a segment changes
    this.asked = new Set(); // numbers of segments that are being fetched in pages
    this.reloading = new Set(); // and one at a time
    /** Numbers of segments that have changed since they were fetched, with the turn of the change. @type {Map<number, number>} */
    this.old = new Map();
    /** Turns number requests and changes: a state of a later turn is newer, whichever response arrives last. */
    this.turn = 0;
    this.turns = new Map();
    this.proposed = new Map(); // turns of the latest proposals, by segment number
    this.problem = signal("");
  }

  /** Set the filter, and fetch the numbers that match it. @param {{filter: string, q: string, from: string}} filter */
  choose(filter) { return (this.chosen = this.#choose(filter)); }

  async #choose(filter) {
    this.filter.value = filter;
    this.abort?.abort();
    const { signal: aborted } = (this.abort = new AbortController());
    try {
      const found = await get(withQuery(`${this.path}/index`, filter), { signal: aborted });
      if (aborted.aborted) return;
      this.numbers.value = found.numbers;
      if (!filter.filter && !filter.q) this.all.value = found.numbers;
      this.problem.value = "";
    } catch (error) {
      if (!aborted.aborted) this.problem.value = error.message;
    }
  }

  /** Return the numbers that match the filter, once no request for them is pending; null if none were ever fetched. */
  async listed() {
    for (let awaited; awaited !== this.chosen;) await (awaited = this.chosen);
    return this.numbers.value;
  }

  /** Return a segment if it is known. @param {number} number */
  peek(number) { return this.known.get(number); }

  /** Return a segment, fetched if need be. @param {number} number */
  async fetch(number) {
    const known = this.known.get(number);
    if (known && !this.old.has(number)) return known;
    try {
      return await this.reload(number);
    } catch (error) {
      if (!known || error.status !== 0) throw error;
      return known; // without a connection, an old state is better than none
    }
  }

  /** Fetch a segment again. @param {number} number */
  async reload(number) {
    const turn = ++this.turn;
    this.reloading.add(number);
    try {
      this.#take([readSegment(await get(`${this.path}/${number}`))], turn);
    } finally {
      this.reloading.delete(number);
    }
    return this.known.get(number);
  }

  /** Store a newer state of a segment. @param {import("./segment.js").Segment} segment */
  set(segment) {
    this.#put(segment, ++this.turn);
    this.version.value++;
  }

  /** Store a state of a segment requested in a turn, unless a newer one is known; return whether it was stored. */
  #put(segment, turn) {
    const { number } = segment;
    if ((this.turns.get(number) ?? 0) > turn) return false;
    this.known.delete(number);
    this.known.set(number, segment);
    this.turns.set(number, turn);
    if ((this.old.get(number) ?? 0) <= turn) this.old.delete(number);
    return true;
  }

  /** Return the number of the first unconfirmed segment after a number; Infinity if there is none. @param {number} after */
  async firstOpen(after) {
    const found = await get(withQuery(this.path, { after, limit: 1, filter: "unconfirmed" }));
    return found.segments[0]?.number ?? Infinity;
  }

  /** Fetch unknown segments of the rows `first` to `last` (exclusive). @param {number} first @param {number} last */
  show(first, last) { return this.fetchAllOf((this.numbers.value ?? []).slice(Math.max(0, first), last)); }

  /** Fetch the numbers of all segments, unless they are known or being fetched. */
  fetchNumbers() {
    if (this.all.value) return Promise.resolve();
    return (this.numbering ??= this.#fetchNumbers());
  }

  async #fetchNumbers() {
    try {
      await this.chosen; // fetches them, too, if there is no filter
      this.all.value ??= (await get(`${this.path}/index`)).numbers;
    } catch (error) {
      this.problem.value = error.message;
    } finally {
      this.numbering = null;
    }
  }

  /** Fetch those of some segments that are unknown or have changed. @param {number[]} numbers in order */
  async fetchAllOf(numbers) {
    const isMissing = (number) => (!this.known.has(number) || this.old.has(number)) && !this.asked.has(number);
    for (let missing = numbers.filter(isMissing); missing.length; missing = missing.slice(PAGE)) {
      await this.#fetchPage(missing.slice(0, PAGE));
    }
  }

  /** Mark segments as changed since they were fetched. @param {number[]} numbers */
  stale(numbers) {
    const turn = ++this.turn;
    for (const number of numbers) if ([this.known, this.asked, this.reloading].some((those) => those.has(number))) this.old.set(number, turn);
  }

  /** Fetch those of some segments again that are marked as changed. @param {(number|null)[]} numbers */
  async fetchStale(numbers) {
    const stale = [...new Set(numbers)].filter((number) => this.old.has(number)).sort((a, b) => a - b);
    for (let at = 0; at < stale.length; at += PAGE) await this.#fetchPage(stale.slice(at, at + PAGE));
  }

  async #fetchPage(missing) {
    missing.forEach((number) => this.asked.add(number));
    const turn = ++this.turn;
    try {
      const isDense = missing.at(-1) - missing[0] < 2 * PAGE;
      const filter = isDense ? {} : this.filter.value; // numbers far apart: request only segments that match the filter
      const limit = isDense ? missing.at(-1) - missing[0] + 1 : missing.length;
      const page = await get(withQuery(this.path, { after: missing[0] - 1, limit, ...filter }));
      this.#take(page.segments.map(readSegment), turn);
      const left = missing.filter((number) => !this.known.has(number) || (this.old.get(number) ?? Infinity) <= turn); // they do not match the filter now
      for (const number of left) await this.reload(number);
      this.problem.value = "";
    } catch (error) {
      this.problem.value = error.message;
    } finally {
      missing.forEach((number) => this.asked.delete(number));
    }
  }

  #take(segments, turn) {
    const wereOld = segments.filter((segment) => this.old.has(segment.number));
    const taken = new Set(segments.filter((segment) => this.#put(segment, turn)));
    this.onRenewed(wereOld.filter((segment) => taken.has(segment) && !this.old.has(segment.number)));
    for (const number of this.known.keys()) {
      if (this.known.size <= MOST) break;
      this.known.delete(number);
      this.turns.delete(number);
    }
    this.version.value++;
  }

  /**
   * Fetch up-to-date proposals for those of some segments that nobody has decided on.
   * @param {number[]} numbers @param {boolean} evidence  with reasons for the edits, which takes longer
   * @returns {Promise<number[]>} numbers of the segments whose proposals have another text
   */
  async refreshProposals(numbers, evidence) {
    const open = numbers.filter((number) => this.known.has(number) && isUndecided(this.known.get(number)));
    if (!open.length) return [];
    const turn = ++this.turn;
    const { proposals } = await post(`/v1/files/${this.file}/proposals`, { numbers: open, evidence });
    const changed = [];
    for (const [key, newer] of Object.entries(proposals)) {
      const segment = this.known.get(Number(key));
      if (!segment || !newer.proposal || (this.proposed.get(segment.number) ?? 0) > turn) continue;
      this.proposed.set(segment.number, turn);
      if (newer.proposal.text !== segment.proposal.text) changed.push(segment.number);
      this.known.set(segment.number, withProposal(segment, newer));
    }
    this.version.value++;
    return changed;
  }
}

/** Return the row of a number in an ascending list, or where it would be. @param {number[]} numbers @param {number} number */
export function rowOf(numbers, number) {
  let low = 0, high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
