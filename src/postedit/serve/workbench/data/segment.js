/**
 * Segments as the pages use them: all offsets in UTF-16, nothing undefined.
 *
 * @typedef {import("../core/flat_text.js").PlacedCode} PlacedCode
 * @typedef {import("../core/proposal_text.js").Proposal} Proposal
 * @typedef {{op: string, before: string, after: string, mt_span: [number, number], pe_span: [number, number],
 *   confidence: number | null, reasons: any[]}} ProposedEdit
 * @typedef {{number: number, unit: string, src: string, src_codes: PlacedCode[], proposal: Proposal & {edits: ProposedEdit[]},
 *   hasMt: boolean, confidence: number | null, skipped: string | null, learnt: boolean, target: string,
 *   target_codes: PlacedCode[], state: string, decisions: {edit: number, accepted: boolean}[], version: number,
 *   updated_by: string | null, updated: string | null, max_length: number | null, notes: string[], matches: any[],
 *   terms: any[], repeats: number, same: string, filled_from: number | null, prepared: boolean, rejected: boolean}} Segment
 *   `prepared`: the model was asked for a proposal; `same`: segments that are filled in together have the same one
 */
import { OffsetMap } from "../core/code_points.js";

const codesOf = (codes, map) => (codes ?? []).map((code) => ({ ...code, at: map.toUtf16(code.at) }));
const span = ([start, end], map) => [map.toUtf16(start), map.toUtf16(end)];

/** Return whether a text is not blank; if mt is blank, the service asks for the codes of the source instead of its own. */
const hasText = (text) => Boolean(text?.trim());

/** Return a segment from its JSON. @param {any} json @returns {Segment} */
export function readSegment(json) {
  const { src = "", mt, target } = json;
  const ofSrc = new OffsetMap(src);
  return {
    ...json,
    src,
    hasMt: hasText(mt),
    src_codes: codesOf(json.src_codes, ofSrc),
    proposal: readProposal(json, json.proposal, json.proposal_codes, ofSrc),
    confidence: json.proposal?.confidence ?? null,
    skipped: json.proposal?.skipped ?? null,
    target: target ?? "",
    target_codes: codesOf(json.target_codes, new OffsetMap(target ?? "")),
    decisions: json.decisions ?? [],
    notes: (json.notes ?? []).map((note) => (typeof note === "string" ? note : note.text ?? "")),
    matches: json.matches ?? [],
    terms: (json.terms ?? []).map((term) => ({ ...term, span: term.span ? span(term.span, ofSrc) : null })),
    repeats: json.repeats ?? 0,
    prepared: json.prepared ?? true,
    rejected: json.rejected ?? false,
  };
}

/** Return a proposal from its JSON; without one, mt unchanged. @returns {Proposal & {edits: ProposedEdit[]}} */
function readProposal(json, edited, codes, ofSrc) {
  const mt = json.mt ?? "";
  const ofMt = new OffsetMap(mt);
  const ownCodes = codesOf(hasText(mt) ? json.mt_codes : json.src_codes?.map((code) => ({ ...code, at: 0 })), ofMt);
  if (!edited || typeof edited.text !== "string") return { mt, mt_codes: ownCodes, text: mt, codes: ownCodes, edits: [], isProposed: false };
  const ofText = new OffsetMap(edited.text);
  const edits = (edited.edits ?? []).map((edit) => ({
    ...edit,
    mt_span: span(edit.mt_span, ofMt),
    pe_span: span(edit.pe_span, ofText),
    before: mt.slice(...span(edit.mt_span, ofMt)),
    after: edited.text.slice(...span(edit.pe_span, ofText)),
    confidence: edit.confidence ?? null,
    reasons: (edit.reasons ?? []).map((reason) => readReason(reason, ofSrc)),
  }));
  return { mt, mt_codes: ownCodes, text: edited.text, codes: codes ? codesOf(codes, ofText) : ownCodes, edits, isProposed: true };
}

function readReason(reason, ofSrc) {
  if (reason.kind !== "source") return reason;
  return { ...reason, words: reason.words.map((word) => ({ ...word, span: word.span ? span(word.span, ofSrc) : null })) };
}

/** Return a segment with a newer proposal for it. @param {Segment} segment @param {{proposal: any, codes?: any[], learnt?: boolean}} newer */
export function withProposal(segment, newer) {
  const json = { mt: segment.hasMt ? segment.proposal.mt : null, src_codes: [], mt_codes: undefined };
  const proposal = readProposal(json, newer.proposal, newer.codes, new OffsetMap(segment.src));
  proposal.mt_codes = segment.proposal.mt_codes;
  if (!newer.codes) proposal.codes = segment.proposal.codes;
  return {
    ...segment,
    proposal,
    confidence: newer.proposal?.confidence ?? null,
    skipped: newer.proposal?.skipped ?? null,
    learnt: newer.learnt ?? segment.learnt,
    prepared: true,
  };
}

/** Return a text and its codes in the form of the API. @param {{text: string, codes: PlacedCode[]}} marked */
export function writeMarked({ text, codes }) {
  const map = new OffsetMap(text);
  return { target: text, codes: codes.map((code) => ({ ...code, at: map.toPoint(code.at) })) };
}

/**
 * Return a segment as it will be once a change is saved.
 * @param {Segment} segment @param {any} body @param {boolean} isStuck  a person has to settle the change first, so that it confirms nothing
 */
export function withBody(segment, { target, codes, state, decisions }, isStuck = false) {
  const shown = state === "open" ? "seen" : isStuck && state === "confirmed" ? "draft" : state; // open: the target is discarded
  return { ...segment, ...readMarked({ target, target_codes: codes }), state: shown, decisions, filled_from: null };
}

/** Return a target from its JSON. @param {{target: string, target_codes: any[]}} json */
export const readMarked = ({ target, target_codes: codes }) => ({ target, target_codes: codesOf(codes, new OffsetMap(target)) });

/** Return how a segment has changed by itself: "filled" in from a repetition, or "learnt"; else "". */
export const freshness = (segment, isLearnt) =>
  segment.filled_from ? "filled" : (isLearnt || segment.learnt) && segment.state !== "confirmed" ? "learnt" : "";

/** Return whether nobody has decided on a segment. */
export const isUndecided = ({ state }) => state === "new" || state === "seen";

/** Return whether a reviewer rejected the target in the file, and nobody has confirmed a new one. */
export const isRejected = ({ rejected, state }) => rejected && state !== "confirmed";

export const isDone = (segment) => segment.state === "confirmed" || segment.state === "locked";

/** Return the share (0 to 1) of confirmed segments among those that can be confirmed. @param {any} counts */
export const progressOf = (counts) => {
  const all = confirmable(counts);
  return all ? counts.confirmed / all : Number(counts.segments > 0);
};

export const confirmable = ({ segments = 0, locked = 0 }) => segments - locked;

/** Return whether the service fills in a segment when another one is confirmed. @param {Segment} one @param {Segment} other */
export const isFilledWith = (one, other) => isUndecided(one) && one.number !== other.number && one.same === other.same;

/** Return the target that a person wrote, or null if the proposal stands. @param {Segment} segment */
export const writtenTarget = (segment) =>
  ["draft", "confirmed", "locked"].includes(segment.state) || (!segment.proposal.text && segment.target)
    ? { text: segment.target, codes: segment.target_codes }
    : null;
