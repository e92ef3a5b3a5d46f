/**
 * The field in which people write the target. Every change goes through the draft, which the page shows, so nothing
 * that is typed, pasted, dropped or autocorrected can break a code. Only input methods write into the page directly;
 * their text is read when they are done.
 */
import { isCodeAt, plain, repaired } from "../core/flat_text.js";
import * as dom from "./field_dom.js";

/**
 * @typedef {{draft: import("../core/draft.js").Draft, changed: () => void, undo: () => void, redo: () => void,
 *   composing: (isComposing: boolean) => void, breaksLines: boolean, refuses: () => boolean,
 *   refused: (why: "enter"|"tags"|"nesting") => void, held: () => void}} FieldOwner
 *   `composing`: called when an input method starts or ends; `refuses`: whether the field is read-only; it says why;
 *   `held`: called when a chip waits for the click that says where it shall stand
 */
export class TargetField {
  /** @param {HTMLElement} element @param {FieldOwner} owner */
  constructor(element, owner) {
    this.element = element;
    this.owner = owner;
    this.composing = false;
    this.placed = null; // the draft state whose selection was set in the page
    this.held = null; // the chip that the next click moves, with the content that it belongs to
    const on = (name, handler) => element.addEventListener(name, handler.bind(this));
    on("beforeinput", this.#beforeInput);
    on("input", this.#input);
    on("compositionstart", this.#compose);
    on("compositionend", this.#composed);
    on("keydown", this.#keyDown);
    on("copy", this.#copy);
    on("cut", this.#cut);
    on("paste", this.#paste);
    on("dragstart", this.#dragStart);
    on("drop", this.#drop);
    on("dblclick", this.#doubleClick);
    on("click", this.#click);
    this.onSelection = () => this.readSelection();
    document.addEventListener("selectionchange", this.onSelection);
  }

  close() { document.removeEventListener("selectionchange", this.onSelection); }

  get #draft() { return this.owner.draft; }
  get hasFocus() { return document.activeElement === this.element; }

  /** Show the draft. */
  show() {
    if (this.composing) return;
    if (this.placed === this.#draft.state) this.readSelection(); // unchanged, but the caret may have moved in the page
    if (this.held?.content !== this.#draft.content) this.#hold(null);
    dom.render(this.element, this.#draft.content);
    if (this.hasFocus) this.#writeSelection();
    this.#highlight();
  }

  focus() {
    this.element.focus({ preventScroll: true });
    this.#writeSelection();
  }

  #writeSelection() {
    this.placed = this.#draft.state;
    const { start, end } = this.placed;
    const selection = getSelection();
    const now = this.#selected();
    if (now && now.start === start && now.end === end) return;
    selection.setBaseAndExtent(...dom.placeOf(this.element, start), ...dom.placeOf(this.element, end));
  }

  #selected() {
    const selection = getSelection();
    if (!selection.rangeCount || !this.element.contains(selection.anchorNode)) return null;
    const { startContainer, startOffset, endContainer, endOffset } = selection.getRangeAt(0);
    if (!this.element.contains(endContainer)) return null;
    return this.#flatRange({ startContainer, startOffset, endContainer, endOffset });
  }

  #flatRange(range) {
    return {
      start: dom.offsetOf(this.element, range.startContainer, range.startOffset),
      end: dom.offsetOf(this.element, range.endContainer, range.endOffset),
    };
  }

  /** Read the selection from the page; browsers report its changes late. */
  readSelection() {
    if (this.composing || !this.hasFocus) return;
    const found = this.#selected();
    const { start, end } = this.#draft.state;
    if (!found || (found.start === start && found.end === end)) return;
    this.#draft.select(found.start, found.end);
    this.placed = this.#draft.state;
  }

  #write(start, end, text, kind) {
    if (this.owner.refuses()) return;
    this.#draft.write(start, end, text, kind);
    this.owner.changed();
  }

  #beforeInput(event) {
    const { inputType } = event;
    if (this.composing || inputType === "insertCompositionText") return;
    event.preventDefault();
    this.readSelection();
    if (inputType === "historyUndo") return this.owner.undo();
    if (inputType === "historyRedo") return this.owner.redo();
    const target = event.getTargetRanges()[0];
    const range = target ? this.#flatRange(target) : this.#draft.state;
    if (inputType === "insertParagraph" || inputType === "insertLineBreak") return this.#breakLine(range, inputType);
    if (inputType.startsWith("insert")) return this.#insert(range, event);
    if (inputType.startsWith("delete")) return this.#delete(range, inputType.endsWith("Forward"));
    return undefined; // bold, italic and other formatting
  }

  #insert({ start, end }, event) {
    const text = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
    const isWord = event.inputType === "insertText" && start === end && !/\s/.test(text);
    if (text) this.#write(start, end, text, isWord ? "typing" : "");
  }

  #breakLine({ start, end }, inputType) {
    if (inputType === "insertLineBreak" || this.owner.breaksLines) this.#write(start, end, "\n", "");
    else this.owner.refused("enter");
  }

  #delete({ start, end }, isForward) {
    const stretch = this.#draft.content.flat.slice(start, end);
    if (plain(stretch)) return this.#write(start, end, "", isForward ? "deleting forward" : "deleting");
    if (start === end) return undefined;
    const caret = isForward ? end : start; // only codes: the caret steps over them
    this.#draft.select(caret, caret);
    this.show();
    return this.owner.refused("tags");
  }

  /** Delete the selection here, since browsers would delete codes with it, or nothing at all. */
  #compose() {
    this.readSelection();
    const { start, end } = this.#draft.state;
    if (start !== end) this.#write(start, end, "", "");
    this.show();
    this.composing = true;
    this.draftComposed = this.#draft;
    this.owner.composing(true);
  }

  /** Read the text of an input method, unless the field was given another text meanwhile. */
  #composed() {
    this.composing = false;
    if (this.draftComposed === this.#draft) this.#takePage();
    else this.show();
    this.owner.composing(false);
  }

  /** Read the text that an input method or an extension wrote; codes that it deleted are restored. */
  #takePage() {
    if (this.owner.refuses()) return this.show();
    const { flat, found } = dom.read(this.element);
    const before = this.#draft.content;
    if (flat !== before.flat || found.length !== before.codes.length) {
      const caret = this.#selected()?.end ?? flat.length;
      const content = repaired(before, flat, found);
      this.#draft.take(content, Math.min(caret, content.flat.length));
      this.owner.changed();
    }
    return this.show();
  }

  #input() { if (!this.composing) this.#takePage(); }

  /** Make arrow keys step over codes one by one, which browsers do not do. */
  #keyDown(event) {
    if (event.key === "Escape") this.#hold(null);
    if (this.composing || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!direction) return;
    this.readSelection();
    const { start, end } = this.#draft.state;
    if (start !== end) return;
    const step = getComputedStyle(this.element).direction === "rtl" ? -direction : direction;
    const { flat } = this.#draft.content;
    const over = step > 0 ? start : start - 1;
    if (over < 0 || over >= flat.length || !isCodeAt(flat, over)) return;
    event.preventDefault();
    this.#draft.select(start + step, start + step);
    this.#writeSelection();
  }

  #copy(event) {
    this.readSelection();
    const { start, end } = this.#draft.state;
    if (start === end) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", plain(this.#draft.content.flat.slice(start, end)));
  }

  #cut(event) {
    this.#copy(event);
    const { start, end } = this.#draft.state;
    event.preventDefault();
    if (start !== end) this.#write(start, end, "", "");
  }

  #paste(event) {
    event.preventDefault();
    this.readSelection();
    const { start, end } = this.#draft.state;
    const text = event.clipboardData.getData("text/plain");
    if (text) this.#write(start, end, this.#fitting(text), "");
  }

  /** Return text from elsewhere, made safe, and in one line if the source has only one. @param {string} text */
  #fitting(text) { return this.owner.breaksLines ? text : text.replace(/\s*[\r\n\v\f\u2028]+\s*/g, " "); }

  #dragStart(event) {
    const chip = dom.chipAt(event.target);
    this.dragged = chip ? Number(chip.dataset.code) : null;
    if (chip) event.dataTransfer.setData("text/plain", "");
    else event.preventDefault();
  }

  #drop(event) {
    event.preventDefault();
    const at = this.#offsetUnder(event);
    if (at === null) return;
    if (this.dragged === null || this.dragged === undefined) {
      const text = event.dataTransfer.getData("text/plain");
      if (text) this.#write(at, at, this.#fitting(text), "");
    } else this.moveCode(this.dragged, at);
    this.dragged = null;
  }

  /** Return the flat offset under the pointer; null if it is elsewhere. @param {MouseEvent} event */
  #offsetUnder({ clientX, clientY }) {
    const place = document.caretPositionFromPoint?.(clientX, clientY);
    return place && this.element.contains(place.offsetNode) ? dom.offsetOf(this.element, place.offsetNode, place.offset) : null;
  }

  /** Hold a chip until the next click, for people who cannot drag. */
  #doubleClick(event) {
    const chip = dom.chipAt(event.target);
    if (!chip || this.owner.refuses()) return;
    this.#hold(chip);
    this.owner.held();
  }

  #click(event) {
    if (!this.held) return;
    const { chip } = this.held;
    this.#hold(null);
    const at = dom.chipAt(event.target) === chip ? null : this.#offsetUnder(event);
    if (at !== null) this.moveCode(Number(chip.dataset.code), at);
  }

  /** @param {HTMLElement | null} chip */
  #hold(chip) {
    this.held?.chip.classList.remove("held");
    this.held = chip && { chip, content: this.#draft.content };
    chip?.classList.add("held");
  }

  /** Move a code to a flat offset. @param {number} index @param {number} at */
  moveCode(index, at) {
    if (this.owner.refuses()) return;
    if (this.#draft.moveCode(index, at)) this.owner.changed();
    else this.owner.refused("nesting");
  }

  /** Highlight accepted edits in the text, if the browser supports it. */
  #highlight() {
    if (!globalThis.Highlight) return;
    const { ranges } = this.#draft.state;
    const marks = this.#draft.statuses.map((status, number) => ({ status, ...ranges[number] }));
    const made = marks.filter((mark) => mark.status === "accepted" && mark.end > mark.start).map(({ start, end }) => {
      const [startContainer, startOffset] = dom.placeOf(this.element, start);
      const [endContainer, endOffset] = dom.placeOf(this.element, end);
      return new StaticRange({ startContainer, startOffset, endContainer, endOffset });
    });
    CSS.highlights.set("edit", new Highlight(...made));
  }
}
