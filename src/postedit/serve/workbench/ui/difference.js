/** The difference between two texts, as elements. */
import { html } from "../lib.js";
import { wordChanges } from "../core/word_diff.js";

/**
 * Return the new text with insertions marked and, if `showsDeleted`, with deletions shown.
 * @param {string} old @param {string} text
 */
export function difference(old, text, showsDeleted = true) {
  const found = [];
  let done = 0;
  for (const change of wordChanges(old, text)) {
    found.push(old.slice(done, change.start));
    if (showsDeleted && change.end > change.start) found.push(html`<del>${old.slice(change.start, change.end)}</del>`);
    if (change.text) found.push(html`<ins>${change.text}</ins>`);
    done = change.end;
  }
  found.push(old.slice(done));
  return found;
}
