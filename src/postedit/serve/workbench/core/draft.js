/**
 * The target that a person writes: text with codes, the places of the proposed edits in it, and all former states.
 * Knows nothing of the page.
 *
 * @typedef {import("./flat_text.js").FlatText} FlatText
 * @typedef {import("./proposal_text.js").Range} Range
 * @typedef {{content: FlatText, ranges: Range[], start: number, end: number}} DraftState  the selection: from, to
 * @typedef {"accepted"|"rejected"|"rewritten"} Status  of an edit
 */
import { fromMarked, moveCode, plain, replace, sameTarget, toMarked } from "./flat_text.js";
import { History } from "./history.js";
import { compose } from "./proposal_text.js";
import { wordChanges } from "./word_diff.js";

export class Draft {
  /**
   * @param {import("./proposal_text.js").Proposal} proposal  without edits if there is none
   * @param {{text: string, codes: import("./flat_text.js").PlacedCode[]} | null} target  what was written before
   * @param {Map<number, boolean>} decisions  made before, by number of the edit
   * @param {number} version  of the segment that it begins with
   */
  constructor(proposal, target, decisions = new Map(), version = 0) {
    this.proposal = proposal;
    this.version = version;
    const accepted = proposal.edits.map((_, number) => decisions.get(number) ?? true);
    let { content, ranges } = compose(proposal, accepted);
    if (target) {
      const written = fromMarked(target.text, target.codes);
      for (const change of flatChanges(content, written)) ranges = moved(ranges, change.start, change.end, change.length);
      content = written;
    }
    const end = content.flat.length;
    /** @type {History<DraftState>} */
    this.history = new History({ content, ranges, start: end, end });
  }

  get state() { return this.history.state; }
  get content() { return this.state.content; }
  get marked() { return toMarked(this.content); }

  /** Return whether a target is the text and the codes of this draft. @param {{target: string, target_codes: any[]}} row */
  holds(row) {
    const { text, codes } = this.marked;
    return sameTarget({ target: text, target_codes: codes }, row);
  }

  /** The status of each edit. @returns {Status[]} */
  get statuses() { return this.proposal.edits.map((_, number) => this.status(number)); }

  /** @param {number} number @returns {Status} */
  status(number) {
    const { start, end } = this.state.ranges[number];
    const text = plain(this.content.flat.slice(start, end));
    const { before, after } = this.proposal.edits[number];
    return text === after ? "accepted" : text === before ? "rejected" : "rewritten";
  }

  /** Decisions as the server takes them. */
  get decisions() {
    return this.statuses.map((status, edit) => ({ edit, accepted: status === "accepted" }));
  }

  select(start, end) { this.history.amend({ ...this.state, start, end }); }

  /**
   * Replace a stretch of the flat text; codes stay.
   * @param {number} start @param {number} end @param {string} text @param {string} kind for undo
   */
  write(start, end, text, kind = "") {
    const done = replace(this.content, start, end, text);
    const ranges = moved(this.state.ranges, start, end, done.end - start + done.kept);
    this.#push({ content: done.content, ranges, start: done.end, end: done.end }, kind);
  }

  /** Take a text that the page made by itself. @param {FlatText} content @param {number} caret */
  take(content, caret) {
    let ranges = this.state.ranges;
    for (const change of flatChanges(this.content, content)) ranges = moved(ranges, change.start, change.end, change.length);
    this.#push({ content, ranges, start: caret, end: caret }, "");
  }

  /** Put another text in place of this one. @param {FlatText} content */
  put(content) { this.take(content, content.flat.length); }

  /** Take former states, the oldest first, as steps to go back to. @param {FlatText[]} contents */
  recall(contents) {
    const states = [];
    let { content, ranges } = this.state;
    for (const former of contents.toReversed()) {
      for (const change of flatChanges(content, former)) ranges = moved(ranges, change.start, change.end, change.length);
      content = former;
      states.unshift({ content, ranges, start: content.flat.length, end: content.flat.length });
    }
    this.history.past.unshift(...states);
  }

  /** Accept an edit that is not accepted, reject one that is. @param {number} number */
  toggle(number) {
    if (!this.proposal.edits[number]) return;
    const accepted = this.statuses.map((status) => status === "accepted");
    accepted[number] = !accepted[number];
    this.#choose(accepted, [number]);
  }

  /** Accept or reject all edits. @param {boolean} accept */
  chooseAll(accept) {
    const all = this.proposal.edits.map((_, number) => number);
    const other = all.filter((number) => (this.status(number) === "accepted") !== accept);
    if (other.length) this.#choose(all.map(() => accept), other);
  }

  /** Move a code. @param {number} index @param {number} offset @returns {boolean} whether pairs stay nested */
  moveCode(index, offset) {
    const done = moveCode(this.content, index, offset);
    if (!done) return false;
    this.take(done.content, done.at + 1);
    return true;
  }

  undo() { return this.history.undo(); }
  redo() { return this.history.redo(); }

  /** Whether this is the proposal as it was made. */
  get isProposal() {
    const { text, codes } = this.proposal;
    return this.holds({ target: text, target_codes: codes });
  }

  /** Whether nothing was done yet. */
  get isUntouched() { return !this.history.canUndo && !this.history.canRedo; }

  #choose(accepted, changed) {
    const before = this.statuses;
    const known = compose(this.proposal, before.map((status) => status === "accepted"));
    if (before.every((status) => status !== "rewritten") && known.content.flat === this.content.flat) {
      const made = compose(this.proposal, accepted); // nothing was written by hand: codes stand as they were proposed
      const caret = made.ranges[changed[0]].end;
      return this.#push({ ...made, start: caret, end: caret }, "");
    }
    let { content, ranges } = this.state;
    let caret = 0;
    for (const number of changed) {
      const { before: old, after } = this.proposal.edits[number];
      const { start, end } = ranges[number];
      const done = replace(content, start, end, accepted[number] ? after : old);
      ranges = moved(ranges, start, end, done.end - start + done.kept, number);
      ranges = ranges.with(number, { start, end: done.end });
      content = done.content;
      caret = done.end;
    }
    return this.#push({ content, ranges, start: caret, end: caret }, "");
  }

  #push(state, kind) { this.history.push(state, kind, Date.now()); }
}

/** Return the changes between two flat texts, the last first, so that each is one of the text as it was. */
function flatChanges(old, next) {
  return wordChanges(old.flat, next.flat)
    .map((change) => ({ start: change.start, end: change.end, length: change.text.length }))
    .reverse();
}

/**
 * Return where ranges lie after a stretch became `length` long. What is written beside a range does not belong to it.
 * @param {Range[]} ranges @param {number} start @param {number} end @param {number} length @param {number} except
 */
function moved(ranges, start, end, length, except = -1) {
  const shift = length - (end - start);
  return ranges.map((range, number) => {
    if (number === except || start >= range.end) return shiftEmpty(range, start, end, shift, number, except);
    if (end <= range.start) return { start: range.start + shift, end: range.end + shift };
    return { start: Math.min(range.start, start), end: Math.max(range.end, end) + shift };
  });
}

/**
 * Whether an empty range, at which something is written, stands behind it or before it: behind at the beginning of the
 * text; behind if it is of a later edit than the one that is replaced; else before.
 */
function shiftEmpty(range, start, end, shift, number, except) {
  const isAtStart = except < 0 && end === 0 && range.end === 0;
  const isLaterEdit = except >= 0 && number > except && range.start >= end && start === range.end;
  return isAtStart || isLaterEdit ? { start: range.start + shift, end: range.end + shift } : range;
}
