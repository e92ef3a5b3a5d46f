/** What a person chooses where the server did not take a text. Theirs is never lost: undo brings it back. */
import { fromMarked } from "../core/flat_text.js";
import { get } from "../data/api.js";
import { readSegment, writtenTarget } from "../data/segment.js";

/** Choose between our text and the one another person saved. @param {import("./editing.js").Editing} editing @param {any} entry @param {boolean} ours */
export function settle(editing, entry, ours) {
  const theirs = editing.readSaved(entry.theirs);
  if (ours) {
    editing.flush(); // the last letters are ours, too
    const newest = editing.queue.pending(editing.file, entry.number);
    editing.queue.resolve(newest?.theirs ? newest : entry, true);
    editing.segment.value = { ...editing.segment.value, version: theirs.version };
    return;
  }
  editing.settled();
  editing.queue.resolve(entry, false);
  editing.timer.giveBack(entry.number, entry.body.seconds);
  replaceDraft(editing, theirs);
}

/** Drop a text that the server refused, and show what it has. @param {import("./editing.js").Editing} editing @param {any} entry */
export async function discard(editing, entry) {
  editing.settled();
  editing.queue.drop(entry);
  editing.timer.giveBack(entry.number, entry.body.seconds);
  try {
    replaceDraft(editing, readSegment(await get(`${editing.cache.path}/${entry.number}`)));
  } catch (error) {
    editing.problem.value = error.message;
  }
}

/** Show what the server has, as a step that can be undone. */
function replaceDraft(editing, segment) {
  const { text, codes } = writtenTarget(segment) ?? segment.proposal;
  editing.drafts.get(segment.number)?.put(fromMarked(text, codes));
  editing.take(segment);
}
