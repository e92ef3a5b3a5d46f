/** Proposals that follow what is learnt, and the reasons of edits, which the model is asked for when a person looks. */
import { signal } from "../lib.js";
import { ApiError } from "../data/api.js";
import { rowOf } from "../data/segment_cache.js";
import { announce, toast } from "../ui/messages.js";
import { t } from "../strings.js";

const AHEAD = 20; // segments after the present one whose proposals follow what is learnt
const AT_ONCE = 5; // of them a request
const EXPLAINED = 3; // segments whose reasons are fetched: the one in hand and those after it

export class Renewal {
  /** @param {import("./editing.js").Editing} editing */
  constructor(editing) {
    this.editing = editing;
    this.isExplaining = signal(false);
    this.isLate = false; // the service had no time for the last ones
    this.asked = new Set(); // proposals whose reasons were asked for
  }

  /**
   * Fetch proposals again for what is on screen and what comes next, and mark those that are others now: the segment in
   * hand and the next ones first, with reasons, and then the others, some at a time, so that each shows as soon as it can.
   */
  async learn() {
    const turn = (this.learning = {});
    const first = this.#ahead(EXPLAINED);
    const rest = [...new Set([...this.#ahead(AHEAD), ...this.editing.visible])].filter((number) => !first.includes(number));
    for (let at = -1; at < rest.length; at += at < 0 ? 1 : AT_ONCE) {
      const numbers = at < 0 ? first : rest.slice(at, at + AT_ONCE);
      const proposed = new Set(numbers.filter((number) => this.editing.cache.peek(number)?.proposal.isProposed)); // a first one is not learnt
      const changed = await this.#renew(numbers, at < 0);
      this.#mark((changed ?? []).filter((number) => proposed.has(number)));
      if (!changed || turn !== this.learning) return; // more has been learnt meanwhile: that renews all
    }
  }

  #mark(changed) {
    if (!changed.length) return;
    this.editing.learnt.value = new Set([...this.editing.learnt.value, ...changed]);
    announce(t.editor.learnt(changed.length));
  }

  /** Fetch the reasons of edits for the segment in hand and the next ones, where they are not known. */
  async explain() {
    const numbers = this.#ahead(EXPLAINED).filter((number) => this.#lacksReasons(number));
    if (!numbers.length || !this.editing.mayWrite) return; // who may not write may not ask the model
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

  /** The numbers of the segment in hand and of those after it. */
  #ahead(count) {
    const { cache, number } = this.editing;
    const numbers = cache.numbers.value ?? [];
    const row = rowOf(numbers, number ?? 0);
    return [...new Set([number, ...numbers.slice(row, row + count)])];
  }

  /**
   * Fetch proposals again, and show the one of the segment in hand.
   * @returns {Promise<number[] | null>} those with another text; null if the service has no time for that
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
      if (!this.isLate) toast(t.editor.late); // a job of the service renews them all, and tells when they are new
      this.isLate = true;
      return null;
    }
    if (!evidence) numbers.filter((number) => editing.cache.peek(number)).forEach((number) => this.asked.delete(this.#nameOf(number)));
    const known = editing.cache.peek(editing.number);
    if (known && numbers.includes(editing.number)) this.#showNewer(known, changed.includes(editing.number));
    return changed;
  }

  /** Show another proposal for the segment in hand, unless a person has begun to work on it; or its reasons. */
  #showNewer(known, isOther) {
    const { draft, segment, revision } = this.editing;
    if (isOther && draft?.isUntouched && !this.editing.isComposing) this.editing.show(known);
    if (isOther || known.proposal.edits.length !== draft?.proposal.edits.length) return;
    draft.proposal = known.proposal;
    segment.value = { ...segment.value, proposal: known.proposal };
    revision.value++;
  }
}
