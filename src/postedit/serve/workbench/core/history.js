/** Unlimited undo. Continuous typing is one step, which ends at a word, a pause, or a move of the caret. */

const PAUSE = 1000; // milliseconds

/** @template State */
export class History {
  /** @param {State} state */
  constructor(state) {
    /** @type {State[]} */ this.past = [];
    /** @type {State[]} */ this.future = [];
    this.state = state;
    this.kind = "";
    this.time = 0;
  }

  get canUndo() { return this.past.length > 0; }
  get canRedo() { return this.future.length > 0; }

  /**
   * Add a state. Changes of the same kind in quick succession become one step, except those of kind "".
   * @param {State} state @param {string} kind @param {number} now milliseconds
   */
  push(state, kind, now) {
    const joins = kind !== "" && kind === this.kind && now - this.time < PAUSE && this.canUndo && !this.canRedo;
    if (!joins) this.past.push(this.state);
    this.future = [];
    [this.state, this.kind, this.time] = [state, kind, now];
  }

  /** Replace the state without a new step, as when the caret moves; ends the present step. @param {State} state */
  amend(state) {
    this.state = state;
    this.kind = "";
  }

  undo() { return this.#step(this.past, this.future); }
  redo() { return this.#step(this.future, this.past); }

  #step(from, to) {
    if (!from.length) return false;
    to.push(this.state);
    this.state = from.pop();
    this.kind = "";
    return true;
  }
}
