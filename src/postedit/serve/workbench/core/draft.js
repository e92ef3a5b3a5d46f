/**
 * The target that a person is writing: text with codes, the places of the proposed edits in it, and its undo history.
 * It does not depend on the page.
 *
 * @typedef {import("./flat_text.js").FlatText} FlatText
 * @typedef {import("./proposal_text.js").Range} Range
 * @typedef {{content: FlatText, ranges: Range[], start: number, end: number}} DraftState  `start`, `end`: the selection
 * @typedef {"accepted"|"rejected"|"rewritten"} Status  status of an edit
 */
import { fromMarked, moveCode, plain, replace, sameTarget, toMarked } from "./flat_text.js";
import { History } from "./history.js";
import { compose } from "./proposal_text.js";
import { wordChanges } from "./word_diff.js";

export class Draft {
  /**
   * @param {import("./proposal_text.js").Proposal} proposal  mt without edits if there is none
   * @param {{text: string, codes: import("./flat_text.js").PlacedCode[]} | null} target  the saved one, if any
   * @param {Map<number, boolean>} decisions  saved decisions, by number of the edit
   * @param {number} version  version of the segment on which the draft is based
   * @param {Draft} [former]  the draft that this one replaces; the caret stays where it was in that text
   */
  constructor(proposal, target, decisions = new Map(), version = 0, former = undefined) {
    this.proposal = proposal;
    this.version = version;
    const accepted = proposal.edits.map((_, number) => decisions.get(number) ?? true);
    let { content, ranges } = compose(proposal, accepted);
    if (target) {
      const written = fromMarked(target.text, target.codes);
      for (const change of flatChanges(content, written)) ranges = moved(ranges, change.start, change.end, change.length);
      content = written;
    }
    /** @type {History<DraftState>} */
    this.history = new History({ content, ranges, ...selectionIn(content, former?.state) });
  }

  get state() { return this.history.state; }
  get content() { return this.state.content; }
  get marked() { return toMarked(this.content); }

  /** Return whether a target has the text and codes of this draft. @param {{target: string, target_codes: any[]}} row */
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

  /** The decisions in the form of the API. */
  get decisions() {
    return this.statuses.map((status, edit) => ({ edit, accepted: status === "accepted" }));
  }

  select(start, end) { this.history.amend({ ...this.state, start, end }); }

  /**
   * Replace a range of the flat text; codes in it are kept.
   * @param {number} start @param {number} end @param {string} text @param {string} kind kind of the undo step
   */
  write(start, end, text, kind = "") {
    const done = replace(this.content, start, end, text);
    const ranges = moved(this.state.ranges, start, end, done.end - start + done.kept);
    this.#push({ content: done.content, ranges, start: done.end, end: done.end }, kind);
  }

  /** Adopt a text that the page has changed by itself. @param {FlatText} content @param {number} caret */
  take(content, caret) {
    let ranges = this.state.ranges;
    for (const change of flatChanges(this.content, content)) ranges = moved(ranges, change.start, change.end, change.length);
    this.#push({ content, ranges, start: caret, end: caret }, "");
  }

  /** Replace the whole text by another one. @param {FlatText} content */
  put(content) { this.take(content, content.flat.length); }

  /** Insert former states, oldest first, before the undo history. @param {FlatText[]} contents */
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

  /** Reject an edit if it is accepted, else accept it. @param {number} number */
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

  /** Move a code. @param {number} index @param {number} offset @returns {boolean} whether it was moved */
  moveCode(index, offset) {
    const done = moveCode(this.content, index, offset);
    if (!done) return false;
    this.take(done.content, done.at + 1);
    return true;
  }

  undo() { return this.history.undo(); }
  redo() { return this.history.redo(); }

  /** Whether the draft is exactly the proposal. */
  get isProposal() {
    const { text, codes } = this.proposal;
    return this.holds({ target: text, target_codes: codes });
  }

  /** Whether the draft has not been changed, and has no undo history. */
  get isUntouched() { return !this.history.canUndo && !this.history.canRedo; }

  #choose(accepted, changed) {
    const before = this.statuses;
    const known = compose(this.proposal, before.map((status) => status === "accepted"));
    if (before.every((status) => status !== "rewritten") && known.content.flat === this.content.flat) {
      const made = compose(this.proposal, accepted); // nothing was written by hand: codes are where they were proposed
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

/** Return the selection of a former state in another text: at its end if it was at the end; within changed words, behind them. */
function selectionIn(content, former) {
  const last = content.flat.length;
  if (!former || former.start === former.content.flat.length) return { start: last, end: last };
  let places = [former];
  for (const change of flatChanges(former.content, content)) places = moved(places, change.start, change.end, change.length);
  const [{ start, end }] = places;
  return { start: former.start === former.end ? end : start, end };
}

/** Return the changes between two flat texts, last first, so that offsets of the others stay valid when one is made. */
function flatChanges(old, next) {
  return wordChanges(old.flat, next.flat)
    .map((change) => ({ start: change.start, end: change.end, length: change.text.length }))
    .reverse();
}

/**
 * Return ranges shifted after a part of the text has become `length` long. Text written beside a range is not in it.
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
 * Return an empty range at which something is written. It is moved behind the new text at the beginning of the text,
 * and if its edit comes after the one that is replaced; else it stays before the new text.
 */
function shiftEmpty(range, start, end, shift, number, except) {
  const isAtStart = except < 0 && end === 0 && range.end === 0;
  const isLaterEdit = except >= 0 && number > except && range.start >= end && start === range.end;
  return isAtStart || isLaterEdit ? { start: range.start + shift, end: range.end + shift } : range;
}
