/** Settles texts that the server did not save. The person's own text is never lost: undo brings it back. */
import { fromMarked } from "../core/flat_text.js";
import { ApiError, get } from "../data/api.js";
import { readSegment, writtenTarget } from "../data/segment.js";

/** Settle a conflict: choose our text or the one another person saved. @param {import("./editing.js").Editing} editing @param {any} entry @param {boolean} ours */
export async function settle(editing, entry, ours) {
  if (ours) {
    editing.flush(); // our text includes the last letters typed
    const newest = editing.queue.pending(editing.file, entry.number);
    editing.queue.resolve(newest?.theirs ? newest : entry, true);
    editing.segment.value = { ...editing.segment.value, version: entry.theirs.version };
    return;
  }
  const theirs = await newestOfTheirs(editing, entry);
  const mine = editing.queue.pending(editing.file, entry.number); // with what was typed meanwhile
  if (!mine?.theirs) return; // another click has settled the conflict meanwhile
  if (editing.number === entry.number) editing.settled();
  editing.queue.resolve(mine, false);
  editing.timer.giveBack(entry.number, mine.body.seconds);
  replaceDraft(editing, theirs);
}

/** Return the segment as the other person has saved it by now; they may have gone on writing since the conflict. */
async function newestOfTheirs(editing, entry) {
  const known = editing.readSaved(entry.theirs);
  try {
    const present = readSegment(await get(`${editing.cache.path}/${entry.number}`));
    return present.version > known.version ? present : known;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return known;
  }
}

/** Drop a text that the server refused; show the saved one. @param {import("./editing.js").Editing} editing @param {any} entry */
export async function discard(editing, entry) {
  editing.settled();
  editing.queue.drop(entry);
  editing.timer.giveBack(entry.number, entry.body.seconds);
  try {
    replaceDraft(editing, readSegment(await get(`${editing.cache.path}/${entry.number}`)));
  } catch (error) {
    editing.problem.value = error;
  }
}

/** Show the saved state, as a step that can be undone. */
function replaceDraft(editing, segment) {
  const { text, codes } = writtenTarget(segment) ?? segment.proposal;
  editing.drafts.get(segment.number)?.put(fromMarked(text, codes));
  editing.take(segment);
}
