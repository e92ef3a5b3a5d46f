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
    if (showsDeleted && change.end > change.start) found.push(html`<del>${visible(old.slice(change.start, change.end))}</del>`);
    if (change.text) found.push(html`<ins>${visible(change.text)}</ins>`);
    done = change.end;
  }
  found.push(old.slice(done));
  return found;
}

const NAMES = {
  " ": "␣", "\n": "⏎", "\t": "⇥", "\u00a0": "NBSP", "\u00ad": "SHY", "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ",
  "\u200e": "LRM", "\u200f": "RLM", "\u202f": "NNBSP", "\u2060": "WJ", "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI",
};

/** Return a text, made visible if it is only white space and marks without width. @param {string} text */
export const visible = (text) => (/[^\s\p{Cf}]/u.test(text) ? text : Array.from(text, (one) => NAMES[one] ?? one).join(""));
