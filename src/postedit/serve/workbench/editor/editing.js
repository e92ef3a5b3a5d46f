/** The work on one file: the segment in hand, its draft, saving, and what others do meanwhile. */
import { computed, signal } from "../lib.js";
import { replaceAddress } from "../data/router.js";
import { SegmentCache } from "../data/segment_cache.js";
import { versionAfter } from "../data/save_queue.js";
import { readSegment, withBody, writeMarked, writtenTarget } from "../data/segment.js";
import { announce, toast } from "../ui/messages.js";
import { t } from "../strings.js";
import { Draft } from "../core/draft.js";
import { fromMarked, sameCodes } from "../core/flat_text.js";
import { Matches } from "./matches.js";
import { News } from "./news.js";
import { Past } from "./past.js";
import { Presence } from "./presence.js";
import { Renewal } from "./renewal.js";
import { Timer } from "./timer.js";
import { walk } from "./walk.js";

const AUTOSAVE = 500; // milliseconds after the first change that is not saved

export class Editing {
  /** @param {string} project @param {string} file @param {import("../data/save_queue.js").SaveQueue} queue @param {boolean} mayWrite */
  constructor(project, file, queue, mayWrite = true) {
    Object.assign(this, { project, file, queue, mayWrite });
    this.cache = new SegmentCache(file, (segments) => segments.forEach((segment) => this.take(segment)));
    this.timer = new Timer(file);
    /** @type {import("../lib.js").Signal<import("../data/segment.js").Segment|null>} */
    this.segment = signal(null);
    this.revision = signal(0); // grows with each change of the draft
    this.loading = signal(0); // how many things run that bring another segment, since the last one was asked for
    this.isLoading = computed(() => this.loading.value > 0);
    this.problem = signal("");
    this.presence = new Presence(file, queue.user, () => (mayWrite ? this.number : null));
    this.renewal = new Renewal(this);
    this.past = new Past(this);
    this.matches = new Matches(this);
    this.news = new News(this);
    /** Segments that changed by what was learnt since the file was opened. */
    this.learnt = signal(new Set());
    this.drafts = new Map();
    this.visible = [];
    this.onHide = () => {
      if (document.visibilityState !== "hidden") return;
      this.flush();
      this.timer.keep();
    };
    document.addEventListener("visibilitychange", this.onHide);
  }

  close() {
    this.flush();
    this.isClosed = true;
    this.timer.close();
    this.presence.close();
    document.removeEventListener("visibilitychange", this.onHide);
  }

  /** Whether nothing may be written: it is locked, or another segment is on its way. */
  get isReadOnly() { return this.isLocked || this.isLoading.value; }

  /** Whether there is something to save that the queue does not have. */
  get isDirty() { return this.hasChanges ?? false; }
  set isDirty(value) {
    this.hasChanges = value;
    if (!this.isClosed) this.queue.isWriting.value = value;
  }

  /** The draft in hand. @returns {Draft | null} */
  get draft() { return this.segment.value ? this.drafts.get(this.segment.value.number) ?? null : null; }
  get number() { return this.segment.value?.number ?? null; }
  /** Whether the file or the rights of this person have it so that the target stays as it is. */
  get isLocked() { return !this.mayWrite || this.segment.value?.state === "locked"; }

  /** Take a segment in hand. @param {number} number */
  async open(number) {
    if (this.isClosed) return;
    if (number !== this.wanted || !this.opening) {
      Object.assign(this, { wanted: number, turn: {}, opening: undefined });
      this.loading.value = 0; // what else runs will not be shown
      if (number === this.number) return;
      const opening = this.load(() => this.#fetchAndShow(number)).finally(() => {
        if (this.opening === opening) this.opening = undefined;
      });
      this.opening = opening;
    }
    await this.opening;
  }

  async #fetchAndShow(number) {
    try {
      this.#leave();
      const segment = await this.cache.fetch(number);
      if (this.isClosed || this.wanted !== number || number === this.number) return; // it came another way, or another one was asked for
      this.show(this.withPending(segment));
      replaceAddress("project", this.project, "file", this.file, number);
      this.presence.show();
      this.problem.value = "";
      this.renewal.explain();
      this.matches.find();
      if (this.cache.old.has(number)) this.news.fetchStale();
    } catch (error) {
      if (this.wanted !== number) return;
      this.problem.value = error.message;
      this.wanted = this.number ?? undefined;
    }
  }

  /** Let nothing be written while something runs that brings another segment. @param {() => Promise<void>} work */
  async load(work) {
    const { turn } = this;
    this.loading.value++;
    try {
      await work();
    } finally {
      if (this.turn === turn) this.loading.value--;
    }
  }

  /** Return whether nothing may be written now, and say why. */
  refuses() {
    if (this.isReadOnly) announce(this.isLocked ? (this.mayWrite ? t.editor.locked : t.editor.readOnly) : t.loading);
    return this.isReadOnly;
  }

  /** Go up or down in the list. @param {number} step 1 or -1 @param {boolean} toOpen to one that is not confirmed */
  step(step, toOpen = false) { return walk(this, step, toOpen); }

  /** Something changed the draft. */
  changed() {
    if (this.isLocked || this.isClosed) return;
    this.revision.value++;
    this.isDirty = true;
    this.autosave ??= setTimeout(() => this.flush(), AUTOSAVE);
  }

  /** An input method begins, or is done: then the draft has its text, or what came meanwhile is shown. @param {boolean} isComposing */
  composing(isComposing) {
    this.isComposing = isComposing;
    const known = this.cache.peek(this.number);
    if (!isComposing && !this.isDirty && known) this.take(known);
  }

  /** Save now what is not saved; what is the proposal again is none of ours, so that the segment is open as before. */
  flush() {
    this.#stopAutosave();
    if (!this.isDirty) return;
    const isOpen = this.segment.value.state !== "confirmed" && this.draft.isProposal;
    this.#save(isOpen ? "open" : "draft");
  }

  /** Forget that there is something to save: it was settled another way. */
  settled() {
    this.isDirty = false;
    this.#stopAutosave();
  }

  #stopAutosave() {
    clearTimeout(this.autosave);
    this.autosave = undefined;
  }

  undo() {
    if (!this.draft || this.refuses()) return undefined;
    return this.draft.undo() ? this.changed() : this.past.undo();
  }

  redo() { if (this.draft && !this.refuses() && this.draft.redo()) this.changed(); }

  /** Accept or reject an edit. @param {number} edit */
  toggle(edit) {
    const draft = this.draft;
    if (!draft || !draft.proposal.edits[edit] || this.refuses()) return;
    draft.toggle(edit);
    announce(t.editor.editIs(edit + 1, draft.status(edit)));
    this.changed();
  }

  /** @param {boolean} accept */
  chooseAll(accept) {
    if (!this.draft || this.refuses()) return;
    this.draft.chooseAll(accept);
    announce(accept ? t.editor.allAccepted : t.editor.allRejected);
    this.changed();
  }

  /** Put a text in place of the target; codes stay. @param {string} text */
  putText(text) {
    if (!this.draft || this.refuses()) return;
    this.draft.write(0, this.draft.content.flat.length, text);
    this.changed();
  }

  /** Put the source in place of the target, with the codes where it has them if these are the same. */
  putSource() {
    const { src, src_codes: codes } = this.segment.value ?? {};
    if (!this.draft || !sameCodes(codes, this.draft.content.codes)) return this.putText(src);
    if (this.refuses()) return;
    this.draft.put(fromMarked(src, codes));
    this.changed();
  }

  /** Confirm the segment, and go to the next one that is not. */
  async confirm() {
    if (!this.draft || this.isLoading.value) return; // it is confirmed, or left
    if (!this.isLocked) this.#save("confirmed");
    await walk(this, 1, true, this.isLocked ? null : this.segment.value);
  }

  /** Take the confirmation back. */
  reopen() {
    if (this.mayWrite && this.segment.value?.state === "confirmed") this.#save("draft");
  }

  #leave() {
    if (this.isDirty) this.flush();
    else if (this.mayWrite && this.segment.value?.state === "new") this.#save("seen");
  }

  #save(state) {
    const { segment, draft } = { segment: this.segment.value, draft: this.draft };
    this.isDirty = false;
    this.#stopAutosave();
    const written = draft.marked;
    const { decisions, proposal } = draft;
    const nothing = { target: "", codes: [], decisions: [] };
    const made = { ...writeMarked(written), decisions, proposal: proposal.isProposed ? proposal.text : undefined };
    const seconds = state === "seen" ? undefined : this.timer.take(segment.number); // what is only seen has no record for them
    const body = { ...(state === "seen" || state === "open" ? nothing : made), state, seconds };
    const local = withBody(segment, body);
    this.segment.value = local;
    this.cache.set(local);
    this.queue.put(this.file, segment.number, segment.version, body, this.project);
  }

  /** Take the answer of the server to something saved. */
  async saved(entry, answer) {
    if (entry.file !== this.file) return;
    this.take(this.readSaved(answer.segment), versionAfter(entry));
    const filled = answer.filled ?? [];
    if (filled.length) {
      toast(t.editor.filled(filled.length));
      await this.news.refresh(filled);
    }
    if (entry.body.state === "confirmed" || answer.correction) await this.renewal.learn();
  }

  /** Return a segment of an answer to a save, which has no glossary hits: those known stay. */
  readSaved(json) {
    const segment = readSegment(json);
    return json.terms?.length ? segment : { ...segment, terms: this.cache.peek(json.number)?.terms ?? [] };
  }

  /**
   * Take a newer state of a segment. What is being written stays, with the version it was written on: the server then
   * refuses to save it over the text of another person.
   * @param {number} version of what is being written
   */
  take(segment, version = this.segment.value?.version) {
    const pending = this.queue.pending(this.file, segment.number);
    const known = this.withPending(segment);
    this.cache.set(known);
    if (segment.number !== this.number) {
      if (!pending) this.#forgetStale(segment);
      return;
    }
    const isWriting = this.isDirty || this.isComposing;
    const isOurs = isWriting || pending || this.draft?.holds(segment);
    const base = isWriting && !pending ? { version } : {};
    if (isOurs) this.segment.value = { ...known, ...base, proposal: this.segment.value.proposal };
    else this.show(segment);
  }

  #forgetStale(segment) {
    const draft = this.drafts.get(segment.number);
    if (draft && !draft.holds(segment)) this.drafts.delete(segment.number);
  }

  /** Show a segment: with its draft, if that is as it was left. @param {import("../data/segment.js").Segment} segment */
  show(segment) {
    if (segment.number !== this.number) this.flush(); // written while this segment was fetched
    const kept = this.drafts.get(segment.number);
    const isSame = kept?.holds(segment) || (!writtenTarget(segment) && kept?.isProposal); // else it was decided on elsewhere
    const isKept = isSame && kept.proposal.text === segment.proposal.text;
    if (!isKept) {
      const decisions = new Map(segment.decisions.map((one) => [one.edit, one.accepted]));
      this.drafts.set(segment.number, new Draft(segment.proposal, writtenTarget(segment), decisions, segment.version));
    }
    this.timer.turnTo(segment.number);
    this.isDirty = false;
    this.segment.value = segment;
    this.revision.value++;
  }

  /** Return a segment as it will be when what waits is saved. @param {import("../data/segment.js").Segment} segment */
  withPending(segment) {
    const entry = this.queue.pending(this.file, segment.number);
    return entry ? { ...withBody(segment, entry.body), version: entry.version } : segment;
  }
}
