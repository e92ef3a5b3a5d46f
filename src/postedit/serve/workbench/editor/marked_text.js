/** A text with its codes as chips, and with marked ranges. */
import { html } from "../lib.js";
import { chipAttributes, chipLabel } from "./field_dom.js";

/** @param {{code: import("../core/flat_text.js").Code}} props */
export function Chip({ code }) {
  return html`<span ...${chipAttributes(code)}>${chipLabel(code)}</span>`;
}

/**
 * Return the parts of a text: plain text, chips and marks.
 * @param {string} text @param {import("../core/flat_text.js").PlacedCode[]} codes
 * @param {{start: number, end: number, show: (parts: any) => any}[]} marks ranges in order, which do not overlap
 * @param {number} from @param {number} to
 */
export function parts(text, codes, marks = [], from = 0, to = text.length) {
  const found = [];
  let at = from;
  for (const mark of marks.filter((one) => one.start >= from && one.end <= to)) {
    if (mark.start < at) continue;
    found.push(...withChips(text, codes, at, mark.start, at === from), mark.show(withChips(text, codes, mark.start, mark.end, false)));
    at = mark.end;
  }
  found.push(...withChips(text, codes, at, to, at === from));
  return found;
}

/** Codes at the start of a range belong to the range before, if there is one; those at its end belong to it. */
function withChips(text, codes, from, to, isFirst) {
  const found = [];
  let at = from;
  for (const code of codes) {
    if (code.at > to || code.at < from || (code.at === from && !isFirst)) continue;
    if (code.at > at) found.push(text.slice(at, code.at));
    found.push(html`<${Chip} code=${code} />`);
    at = code.at;
  }
  if (to > at) found.push(text.slice(at, to));
  return found;
}
