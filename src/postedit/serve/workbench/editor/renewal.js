/** Renews proposals after corrections are learnt, and fetches reasons of edits when a person looks at them. */
import { signal } from "../lib.js";
import { ApiError } from "../data/api.js";
import { rowOf } from "../data/segment_cache.js";
import { announce, toast } from "../ui/messages.js";
import { t } from "../strings.js";

const AHEAD = 20; // segments from the current one on whose proposals are renewed
const AT_ONCE = 5; // segments per request
const EXPLAINED = 3; // segments whose reasons are fetched, from the current one on

export class Renewal {
  /** @param {import("./editing.js").Editing} editing */
  constructor(editing) {
    this.editing = editing;
    this.isExplaining = signal(false);
    this.isLate = false; // whether the service was too busy at the last request
    this.asked = new Set(); // proposals whose reasons were requested
  }

  /**
   * Renew the proposals of segments on screen and of the next ones, and mark those that have changed: first those of
   * the current segment and the next ones, with reasons; then the others, some at a time, so that each is shown early.
   */
  async learn() {
    const turn = (this.learning = {});
    const first = this.#ahead(EXPLAINED);
    const rest = [...new Set([...this.#ahead(AHEAD), ...this.editing.visible])].filter((number) => !first.includes(number));
    for (let at = -1; at < rest.length; at += at < 0 ? 1 : AT_ONCE) {
      const numbers = at < 0 ? first : rest.slice(at, at + AT_ONCE);
      const proposed = new Set(numbers.filter((number) => this.editing.cache.peek(number)?.proposal.isProposed)); // a first one is not marked
      const changed = await this.#renew(numbers, at < 0);
      this.#mark((changed ?? []).filter((number) => proposed.has(number)));
      if (!changed || turn !== this.learning) return; // or more was learnt, and another call renews all
    }
  }

  #mark(changed) {
    if (!changed.length) return;
    this.editing.learnt.value = new Set([...this.editing.learnt.value, ...changed]);
    announce(t.editor.learnt(changed.length));
  }

  /** Fetch missing reasons of edits for the current segment and the next ones. */
  async explain() {
    const numbers = this.#ahead(EXPLAINED).filter((number) => this.#lacksReasons(number));
    if (!numbers.length || !this.editing.mayWrite) return; // people who may not write may not ask the model
    numbers.forEach((number) => this.asked.add(this.#nameOf(number)));
    this.isExplaining.value = numbers.includes(this.editing.number);
    const turn = (this.turn = {});
    await this.#renew(numbers, true);
    if (turn === this.turn) this.isExplaining.value = false;
  }

  #nameOf(number) { return `${number} ${this.editing.cache.peek(number).proposal.text}`; }

  #lacksReasons(number) {
    const proposal = this.editing.cache.peek(number)?.proposal;
    if (!proposal || this.asked.has(this.#nameOf(number))) return false;
    return !proposal.isProposed || proposal.edits.some((edit) => !edit.reasons.length);
  }

  /** Return the numbers of the current segment and of those after it in the list. */
  #ahead(count) {
    const { cache, number } = this.editing;
    const numbers = cache.numbers.value ?? [];
    const row = rowOf(numbers, number ?? 0);
    return [...new Set([number, ...numbers.slice(row, row + count)])];
  }

  /**
   * Fetch up-to-date proposals, and show that of the current segment.
   * @returns {Promise<number[] | null>} numbers of those with another text; null if the request failed
   */
  async #renew(numbers, evidence) {
    const { editing } = this;
    let changed;
    try {
      changed = await editing.cache.refreshProposals(numbers, evidence);
      this.isLate = false;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!error.isPassing) return null; // the file is gone, or nobody is signed in
      if (!this.isLate) toast(t.editor.late); // a job of the service renews them all; events report it
      this.isLate = true;
      return null;
    }
    if (!evidence) numbers.filter((number) => editing.cache.peek(number)).forEach((number) => this.asked.delete(this.#nameOf(number)));
    const known = editing.cache.peek(editing.number);
    if (known && numbers.includes(editing.number)) this.#showNewer(known, changed.includes(editing.number));
    return changed;
  }

  /** Show a newer proposal for the current segment, unless work on it has begun; or only the new reasons. */
  #showNewer(known, isOther) {
    const { draft, segment, revision } = this.editing;
    if (isOther && draft?.isUntouched && !this.editing.isComposing) this.editing.show(known);
    if (isOther || known.proposal.edits.length !== draft?.proposal.edits.length) return;
    draft.proposal = known.proposal;
    segment.value = { ...segment.value, proposal: known.proposal };
    revision.value++;
  }
}
