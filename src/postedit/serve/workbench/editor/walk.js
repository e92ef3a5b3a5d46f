/** Moving up and down the list of segments. */
import { ApiError } from "../data/api.js";
import { isDone, isFilledWith } from "../data/segment.js";
import { rowOf } from "../data/segment_cache.js";
import { announce } from "../ui/messages.js";
import { t } from "../strings.js";

const LOOK = 60; // segments fetched at a time to find an unconfirmed one

/**
 * Open the segment before or after the current one or, if another one is being opened, before or after that.
 * @param {import("./editing.js").Editing} editing @param {number} step 1 or -1 @param {boolean} toOpen skip confirmed segments
 * @param {import("../data/segment.js").Segment | null} confirmed  just confirmed; its repetitions will be filled in
 */
export function walk(editing, step, toOpen, confirmed = null) {
  return editing.load(async () => {
    const { wanted } = editing;
    if (wanted === undefined && editing.isBeginning) return; // the first segment to open is still being searched for
    const number = await goal(editing, wanted ?? 0, step, toOpen, confirmed);
    if (number !== null && editing.wanted === wanted) await editing.open(number); // if not, another one was opened meanwhile
  });
}

/** Return the number of the segment to open; if there is none, announce why, and return null. */
async function goal(editing, from, step, toOpen, confirmed) {
  const numbers = await editing.cache.listed();
  if (!numbers) return null; // the list shows why
  let row = rowOf(numbers, from);
  if (step < 0 || numbers[row] === from) row += step; // if it is not in the list, `row` is the next one already
  try {
    if (toOpen) row = await openRow(editing, numbers, row, step, confirmed);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    editing.problem.value = error;
    return null;
  }
  if (row >= 0 && row < numbers.length) return numbers[row];
  announce(step > 0 ? t.editor.lastSegment : t.editor.firstSegment);
  return null;
}

/** Return the next unconfirmed row, fetching unknown segments, or without a filter, only its number. */
async function openRow(editing, numbers, from, step, confirmed) {
  const { cache } = editing;
  const { filter, q } = cache.filter.value;
  let row = from;
  for (; row >= 0 && row < numbers.length; row += step) {
    if (!cache.peek(numbers[row])) {
      if (step > 0 && !filter && !q) return rowOf(numbers, await cache.firstOpen(numbers[row] - 1));
      await cache.show(step > 0 ? row : row - LOOK, step > 0 ? row + LOOK : row + 1);
    }
    const known = cache.peek(numbers[row]);
    const isGoingToBeDone = known && confirmed && isFilledWith(known, confirmed);
    if (!known || !(isGoingToBeDone || isDone(editing.withPending(known)))) break; // a failed fetch is shown as a problem
  }
  return row;
}
