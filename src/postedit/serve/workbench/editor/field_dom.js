/**
 * Converts between a flat text and elements of the page, and between offsets in it and positions in the page. In the
 * field, text nodes (maybe empty) alternate with chips, so that each place between two codes has its own node.
 */
import { codeOffsets, CODE } from "../core/flat_text.js";
import { t } from "../strings.js";

const LONGEST = 14; // characters of a code that a chip shows
const shown = new WeakMap(); // the codes that each field shows

/** @typedef {import("../core/flat_text.js").Code} Code */

/** Return the text of a chip. @param {Code} code */
export function chipLabel(code) {
  const label = [...(code.label || code.id)]; // characters, so that none is cut in two
  return label.length > LONGEST ? `${label.slice(0, LONGEST - 1).join("")}…` : label.join("");
}

/** Return the class and the attributes of a chip. @param {Code} code */
export const chipAttributes = (code) => ({
  class: `chip ${code.kind}`,
  title: code.label || code.id,
  dir: "ltr", // so that its label does not decide the direction of the text
  role: "img",
  "aria-label": t.tagName(code),
});

function makeChip(document, code, index) {
  const chip = document.createElement("span");
  for (const [name, value] of Object.entries(chipAttributes(code))) chip.setAttribute(name, value);
  chip.setAttribute("contenteditable", "false");
  chip.setAttribute("draggable", "true");
  chip.dataset.code = String(index);
  chip.textContent = chipLabel(code);
  return chip;
}

/** Return the parts of the text before, between and behind the codes. @param {string} flat */
function stretches(flat) {
  const ends = [...codeOffsets(flat), flat.length];
  return ends.map((end, index) => flat.slice(index ? ends[index - 1] + 1 : 0, end));
}

/** Show a flat text in a field; unchanged nodes are not touched. @param {HTMLElement} field @param {import("../core/flat_text.js").FlatText} content */
export function render(field, { flat, codes }) {
  const texts = stretches(flat);
  const names = codes.map((code) => `${code.kind} ${code.id} ${code.label}`).join("\n");
  if (shown.get(field) !== names || !isSound(field, codes.length)) {
    const nodes = texts.flatMap((text, index) => [document.createTextNode(text), ...(codes[index] ? [makeChip(document, codes[index], index)] : [])]);
    field.replaceChildren(...nodes);
    shown.set(field, names);
  } else texts.forEach((text, index) => patchText(field.childNodes[2 * index], text));
  const needsBreak = flat === "" || flat.endsWith("\n") || flat.endsWith(CODE); // an empty last line
  if (needsBreak !== (field.lastChild?.nodeName === "BR")) {
    if (needsBreak) field.append(document.createElement("br"));
    else field.lastChild.remove();
  }
}

function isSound(field, count) {
  const nodes = Array.from(field.childNodes).filter((node) => node.nodeName !== "BR" || node !== field.lastChild);
  return nodes.length === 2 * count + 1 && nodes.every((node, index) =>
    index % 2 ? node.dataset?.code === String((index - 1) / 2) && node.childNodes.length === 1 : node.nodeType === Node.TEXT_NODE);
}

function patchText(node, text) {
  const old = node.data;
  if (old === text) return;
  const most = Math.min(old.length, text.length);
  let start = 0, tail = 0;
  while (start < most && old[start] === text[start]) start++;
  while (tail < most - start && old[old.length - 1 - tail] === text[text.length - 1 - tail]) tail++;
  node.replaceData(start, old.length - start - tail, text.slice(start, text.length - tail));
}

const isChip = (node) => node.nodeType === Node.ELEMENT_NODE && node.dataset.code !== undefined;

/** Return the chip that a node of the page belongs to, or null. @param {Node} node @returns {HTMLElement | null} */
export const chipAt = (node) => (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement).closest("[data-code]");

/** Read a field that an input method or an extension may have changed. @param {HTMLElement} field */
export function read(field) {
  let flat = "";
  const found = [];
  const visit = (node) => {
    if (node.nodeType === Node.TEXT_NODE) flat += node.data.replaceAll(CODE, "");
    else if (isChip(node)) {
      found.push(Number(node.dataset.code));
      flat += CODE;
    } else if (node.nodeName === "BR") flat += node === field.lastChild ? "" : "\n";
    else node.childNodes.forEach(visit);
  };
  field.childNodes.forEach(visit);
  return { flat, found };
}

function lengthOf(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data.length;
  if (isChip(node)) return 1;
  return Array.from(node.childNodes).reduce((sum, child) => sum + lengthOf(child), 0);
}

/** Return the flat offset of a position. @param {HTMLElement} field @param {Node} node @param {number} offset */
export function offsetOf(field, node, offset) {
  const chip = chipAt(node);
  if (chip) return offsetOf(field, chip.parentNode, Array.from(chip.parentNode.childNodes).indexOf(chip)) + (offset ? 1 : 0);
  let at = node.nodeType === Node.TEXT_NODE
    ? offset
    : Array.from(node.childNodes).slice(0, offset).reduce((sum, child) => sum + lengthOf(child), 0);
  for (let part = node; part !== field; part = part.parentNode) {
    for (let other = part.previousSibling; other; other = other.previousSibling) at += lengthOf(other);
  }
  return at;
}

/** Return the position of a flat offset. @param {HTMLElement} field @param {number} offset @returns {[Node, number]} */
export function placeOf(field, offset) {
  let left = offset;
  for (const node of field.childNodes) {
    if (node.nodeType === Node.TEXT_NODE && left <= node.data.length) return [node, left];
    left -= lengthOf(node);
  }
  return [field, field.childNodes.length];
}
