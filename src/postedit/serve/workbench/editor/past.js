/** Former states of the current segment, from the server, so that undo continues after a reload of the page. */
import { fromMarked, sameTarget } from "../core/flat_text.js";
import { ApiError, get } from "../data/api.js";
import { readMarked } from "../data/segment.js";
import { announce } from "../ui/messages.js";
import { t } from "../strings.js";

/** @typedef {{version: number, state: string, who: string, made: string, target: string, target_codes: any[], filled_from: number | null}} Former */

export class Past {
  /** @param {import("./editing.js").Editing} editing */
  constructor(editing) {
    this.editing = editing;
    this.recalled = new WeakSet(); // drafts with former states from the server in their history
  }

  /** Return the saved states of the current segment, the oldest first. @returns {Promise<Former[]>} */
  async states() {
    const { history } = await get(`${this.editing.cache.path}/${this.editing.number}/history`);
    return history.filter((row) => row.state !== "seen")
      .map((row) => ({ ...row, ...readMarked({ target: row.target, target_codes: row.codes }) }));
  }

  /** Go back to the state before the first one that this page knows. */
  async undo() {
    const { editing } = this;
    const { draft } = editing;
    if (!this.recalled.has(draft)) {
      try {
        await this.#recall(draft);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        announce(error.message);
        return;
      }
    }
    if (draft !== editing.draft || editing.isReadOnly) return; // another segment was or is being opened
    if (draft.undo()) editing.changed();
    else announce(t.editor.nothingToUndo);
  }

  async #recall(draft) {
    const saved = (await this.states()).filter((row) => row.version <= draft.version);
    const { proposal } = draft;
    if (this.recalled.has(draft) || draft.history.canUndo) return; // done already, after another key press
    this.recalled.add(draft);
    const contents = [fromMarked(proposal.text, proposal.codes), ...saved.map((row) => fromMarked(row.target, row.target_codes)), draft.content];
    draft.recall(line(contents).slice(0, -1));
  }

  /** Replace the target by a former state, as a change that can be undone. @param {Former} row */
  putBack(row) {
    const { editing } = this;
    if (!editing.draft || editing.refuses()) return;
    editing.draft.put(fromMarked(row.target, row.target_codes));
    editing.changed();
    announce(t.past.isBack);
  }
}

/** Return states without undone ones: if a state comes back, those between its occurrences were undone. */
function line(contents) {
  const found = new Map(); // by content, in order
  for (const content of contents) {
    const key = [content.flat, ...content.codes.map((code) => `${code.kind} ${code.id}`)].join("\n");
    const known = [...found.keys()];
    if (found.has(key)) for (const later of known.slice(known.indexOf(key) + 1)) found.delete(later);
    else found.set(key, content);
  }
  return [...found.values()];
}

/** Return states to choose from, the latest first; of equal successive ones, only the last. @param {Former[]} rows */
export function choices(rows) {
  const isReplaced = (row, next) => next && sameTarget(row, next) && row.state === next.state;
  return rows.filter((row, index) => !isReplaced(row, rows[index + 1])).reverse();
}
