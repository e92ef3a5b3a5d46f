/** Differences between two texts, word by word. */
import { singleChange } from "./flat_text.js";

const LONGEST = 3000; // words of both texts; longer texts get one change, from their first difference to their last

/** @typedef {{start: number, end: number, text: string}} Change  replaces a range of the first text */

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });
const wordsOf = (text) => Array.from(segmenter.segment(text), (part) => part.segment);

/** Return the changes that turn one text into another, in order. @param {string} old @param {string} text @returns {Change[]} */
export function wordChanges(old, text) {
  if (old === text) return [];
  const outer = singleChange(old, text);
  const before = wordsOf(old), after = wordsOf(text);
  if (before.length + after.length > LONGEST) return [outer];
  return withoutSpecks(joined(before, after, commonLengths(before, after)), old);
}

/** Join changes that are separated only by white space, as people read them as one. */
function withoutSpecks(changes, old) {
  const found = [];
  for (const change of changes) {
    const last = found.at(-1);
    const between = last && old.slice(last.end, change.start);
    if (last && !between.trim()) Object.assign(last, { end: change.end, text: last.text + between + change.text });
    else found.push({ ...change });
  }
  return found;
}

/** Return the lengths of the longest common subsequences of all pairs of suffixes. */
function commonLengths(before, after) {
  const width = after.length + 1;
  const table = new Uint16Array((before.length + 1) * width);
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      table[row * width + column] = before[row] === after[column]
        ? table[(row + 1) * width + column + 1] + 1
        : Math.max(table[(row + 1) * width + column], table[row * width + column + 1]);
    }
  }
  return table;
}

function joined(before, after, table) {
  const width = after.length + 1;
  const changes = [];
  let row = 0, column = 0, at = 0, open = null;
  while (row < before.length || column < after.length) {
    if (row < before.length && column < after.length && before[row] === after[column]) {
      if (open) changes.push(open);
      open = null;
      at += before[row].length;
      row++, column++;
      continue;
    }
    open ??= { start: at, end: at, text: "" };
    const skip = row < before.length
      && (column === after.length || table[(row + 1) * width + column] >= table[row * width + column + 1]);
    if (skip) {
      at += before[row++].length;
      open.end = at;
    } else open.text += after[column++];
  }
  if (open) changes.push(open);
  return changes;
}
