/**
 * Text with inline codes as one string, in which each code is one character, so that a caret can be between two codes,
 * and every change is a change of a string. The character is a lone surrogate, which no valid text contains.
 *
 * @typedef {{id: string, kind: "open"|"close"|"alone", label: string}} Code
 * @typedef {Code & {at: number}} PlacedCode  `at` is a UTF-16 offset in the text
 * @typedef {{flat: string, codes: Code[]}} FlatText  codes in the order of their characters
 */

export const CODE = "\udfff";
const isCode = (unit) => unit === 0xdfff;
const isHigh = (unit) => unit >= 0xd800 && unit < 0xdc00;

/** Return whether the unit at an offset is a code, not half of a character. @param {string} flat @param {number} at */
export function isCodeAt(flat, at) {
  if (!isCode(flat.charCodeAt(at))) return false;
  return !isHigh(flat.charCodeAt(at - 1));
}

/** Return the offsets of all codes. @param {string} flat */
export function codeOffsets(flat) {
  const found = [];
  for (let at = flat.indexOf(CODE); at >= 0; at = flat.indexOf(CODE, at + 1)) if (isCodeAt(flat, at)) found.push(at);
  return found;
}

/** Return text and codes as a flat text. @param {string} text @param {PlacedCode[]} placed @returns {FlatText} */
export function fromMarked(text, placed) {
  const sorted = placed.map((code, order) => ({ code, order })).sort((a, b) => a.code.at - b.code.at || a.order - b.order);
  let flat = "", done = 0;
  for (const { code } of sorted) {
    flat += text.slice(done, code.at) + CODE;
    done = Math.max(done, code.at);
  }
  return { flat: flat + text.slice(done), codes: sorted.map(({ code: { at: _, ...code } }) => code) };
}

/** Return the text without codes, and the codes with their places. @param {FlatText} content */
export function toMarked({ flat, codes }) {
  const offsets = codeOffsets(flat);
  const placed = offsets.map((offset, index) => ({ ...codes[index], at: offset - index }));
  return { text: plain(flat), codes: placed };
}

/** Return the text without codes. @param {string} flat */
export function plain(flat) {
  let text = "", done = 0;
  for (const at of codeOffsets(flat)) {
    text += flat.slice(done, at);
    done = at + 1;
  }
  return text + flat.slice(done);
}

/**
 * Return typed or pasted text made safe to insert: line breaks are normalised, and control characters, which XML
 * forbids, are removed. @param {string} text
 */
export const clean = (text) =>
  text.replace(/\r\n?|[\v\f\u2028]/g, "\n").replace(/[\0-\x08\x0e-\x1f\ufffe\uffff]/g, "").toWellFormed();

/**
 * Replace a range by text. Codes within the range are kept, behind the new text.
 * @param {FlatText} content @param {number} start @param {number} end @param {string} text
 * @returns {{content: FlatText, end: number, kept: number}} `end`: offset behind the new text; `kept`: codes kept
 */
export function replace(content, start, end, text) {
  const inserted = clean(text);
  const kept = codeOffsets(content.flat).filter((at) => at >= start && at < end).length;
  const flat = content.flat.slice(0, start) + inserted + CODE.repeat(kept) + content.flat.slice(end);
  return { content: { flat, codes: content.codes }, end: start + inserted.length, kept };
}

/**
 * Return how far pairs of codes are out of order: 0: they nest; 1: some overlap; 2: one closes before it opens.
 * A code whose partner is in another segment belongs to no pair. @param {Code[]} codes
 */
export function disorder(codes) {
  const idsOf = (kind) => new Set(codes.filter((code) => code.kind === kind).map((code) => code.id));
  const opening = idsOf("open"), closing = idsOf("close");
  const open = [];
  let worst = 0;
  for (const { id, kind } of codes.filter((code) => opening.has(code.id) && closing.has(code.id))) {
    if (kind === "open") {
      open.push(id);
      continue;
    }
    const at = open.lastIndexOf(id);
    if (at < 0) return 2;
    if (at < open.length - 1) worst = 1;
    open.splice(at, 1);
  }
  return worst;
}

/**
 * Move a code to an offset, unless pairs would be further out of order.
 * @param {FlatText} content @param {number} index of the code @param {number} offset in the flat text
 * @returns {{content: FlatText, at: number} | null}
 */
export function moveCode(content, index, offset) {
  const from = codeOffsets(content.flat)[index];
  const at = offset > from ? offset - 1 : offset;
  const without = content.flat.slice(0, from) + content.flat.slice(from + 1);
  const codes = content.codes.filter((_, other) => other !== index);
  const rank = codeOffsets(without.slice(0, at)).length;
  codes.splice(rank, 0, content.codes[index]);
  if (disorder(codes) > disorder(content.codes)) return null;
  return { content: { flat: without.slice(0, at) + CODE + without.slice(at), codes }, at };
}

const key = (code) => `${code.kind} ${code.id}`;

/** Return whether two texts have the same codes, in any order. @param {Code[]} ours @param {Code[]} theirs */
export const sameCodes = (ours, theirs) =>
  ours.length === theirs.length && ours.map(key).sort().join("\n") === theirs.map(key).sort().join("\n");

/**
 * Return the text that the page made by itself (by an input method or an extension), with all lost codes restored.
 * @param {FlatText} before @param {string} after the flat text of the page, in which codes may be missing
 * @param {number[]} found numbers of the codes that are left, in order
 * @returns {FlatText}
 */
export function repaired(before, after, found) {
  if (found.length === before.codes.length && found.every((number, index) => number === index)) {
    return { flat: after, codes: before.codes };
  }
  const old = plain(before.flat), text = plain(after);
  const change = singleChange(old, text);
  const shift = text.length - old.length;
  const placed = toMarked(before).codes.map((code) => ({
    ...code,
    at: code.at <= change.start ? code.at : code.at >= change.end ? code.at + shift : change.end + shift,
  }));
  return fromMarked(text, placed);
}

/**
 * Return the smallest single change that turns `old` into `text`.
 * @param {string} old @param {string} text
 */
export function singleChange(old, text) {
  const most = Math.min(old.length, text.length);
  let start = 0, tail = 0;
  while (start < most && old[start] === text[start]) start++;
  while (tail < most - start && old[old.length - 1 - tail] === text[text.length - 1 - tail]) tail++;
  if (start && isHigh(old.charCodeAt(start - 1))) start--; // never within a surrogate pair
  if (tail && isHigh(old.charCodeAt(old.length - tail - 1))) tail--;
  return { start, end: old.length - tail, text: text.slice(start, text.length - tail) };
}

/** Return whether two targets have the same text, and the same codes at the same places. */
export function sameTarget(one, other) {
  const places = (codes) => codes.map((code) => `${code.kind} ${code.id} ${code.at}`).join("\n");
  return one.target === other.target && places(one.target_codes) === places(other.target_codes);
}
