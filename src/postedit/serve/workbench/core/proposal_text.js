/**
 * The text that results from a machine translation if some proposed edits are accepted, with its codes.
 *
 * @typedef {import("./flat_text.js").PlacedCode} PlacedCode
 * @typedef {{before: string, after: string, mt_span: [number, number], pe_span: [number, number]}} Edit  in UTF-16
 * @typedef {{mt: string, mt_codes: PlacedCode[], text: string, codes: PlacedCode[], edits: Edit[]}} Proposal
 * @typedef {{start: number, end: number}} Range  in a flat text
 */
import { codeOffsets, fromMarked } from "./flat_text.js";

/**
 * Return the text with some edits accepted and the others rejected, and the range of each edit in it.
 * @param {Proposal} proposal @param {boolean[]} accepted
 * @returns {{content: import("./flat_text.js").FlatText, ranges: Range[]}}
 */
export function compose(proposal, accepted) {
  const pieces = [];
  let text = "", mtDone = 0, peDone = 0;
  const add = (mtEnd, peEnd, number) => {
    const isNew = number === undefined || accepted[number];
    const start = text.length;
    text += isNew ? proposal.text.slice(peDone, peEnd) : proposal.mt.slice(mtDone, mtEnd);
    pieces.push({ mt: [mtDone, mtEnd], pe: [peDone, peEnd], out: [start, text.length], number, isNew });
    [mtDone, peDone] = [mtEnd, peEnd];
  };
  proposal.edits.forEach((edit, number) => {
    add(edit.mt_span[0], edit.pe_span[0]);
    add(edit.mt_span[1], edit.pe_span[1], number);
  });
  add(proposal.mt.length, proposal.text.length);
  const content = fromMarked(text, placedCodes(proposal, accepted, pieces));
  const ranges = pieces.filter((piece) => piece.number !== undefined).map((piece) => flatRange(content.flat, piece.out));
  return { content, ranges };
}

/** Return the range in the flat text of a range in the text without codes; codes at its ends are outside. */
function flatRange(flat, [start, end]) {
  const offsets = codeOffsets(flat).map((at, index) => at - index); // offsets in the text without codes
  const before = start === end ? offsets.filter((at) => at < start) : offsets.filter((at) => at <= start);
  return { start: start + before.length, end: end + offsets.filter((at) => at < end && at > start).length + before.length };
}

/** Return the codes in the order of the proposal if all edits are accepted, else in that of mt, in ascending places. */
function placedCodes(proposal, accepted, pieces) {
  const inProposal = new Map(proposal.codes.map((code) => [keyOf(code), code.at]));
  const inMt = new Map(proposal.mt_codes.map((code) => [keyOf(code), code.at]));
  const order = accepted.every(Boolean) && proposal.codes.length === proposal.mt_codes.length ? proposal.codes : proposal.mt_codes;
  let least = 0;
  return order.map((code) => {
    const at = placeOf(inMt.get(keyOf(code)) ?? 0, inProposal.get(keyOf(code)), pieces);
    least = Math.max(least, at);
    return { ...code, at: least };
  });
}

const keyOf = (code) => `${code.kind} ${code.id}`;

function placeOf(mtAt, peAt, pieces) {
  const within = (side, at) => pieces.filter((piece) => piece[side][0] <= at && at <= piece[side][1]);
  const offset = (piece, side, at) => Math.min(piece.out[0] + at - piece[side][0], piece.out[1]);
  if (peAt !== undefined) {
    const candidates = within("pe", peAt).filter((piece) => piece.isNew);
    const both = candidates.find((piece) => piece.mt[0] <= mtAt && mtAt <= piece.mt[1]) ?? candidates[0];
    if (both) return offset(both, "pe", peAt);
  }
  const candidates = within("mt", mtAt);
  const kept = candidates.find((piece) => !piece.isNew || piece.number === undefined) ?? candidates[0];
  return offset(kept, "mt", mtAt);
}
