/** The editing of one file: the current segment, its draft, saving, and changes by others. */
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

const AUTOSAVE = 500; // milliseconds after the first unsaved change

export class Editing {
  /** @param {string} project @param {string} file @param {import("../data/save_queue.js").SaveQueue} queue @param {boolean} mayWrite */
  constructor(project, file, queue, mayWrite = true) {
    Object.assign(this, { project, file, queue, mayWrite });
    this.cache = new SegmentCache(file, (segments) => segments.forEach((segment) => this.take(segment)));
    this.timer = new Timer(file);
    /** @type {import("../lib.js").Signal<import("../data/segment.js").Segment|null>} */
    this.segment = signal(null);
    this.revision = signal(0); // incremented with each change of the draft
    this.loading = signal(0); // operations in progress that will show another segment, since the last request for one
    this.isLoading = computed(() => this.loading.value > 0);
    this.problem = signal(/** @type {any} */ (null)); // the error of what failed last
    this.presence = new Presence(file, queue.user, () => (mayWrite ? this.number : null));
    this.renewal = new Renewal(this);
    this.past = new Past(this);
    this.matches = new Matches(this);
    this.news = new News(this);
    /** Numbers of segments whose proposals have changed by what was learnt since the file was opened. */
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

  /** Whether the target cannot be edited now: it is locked, or another segment is being loaded. */
  get isReadOnly() { return this.isLocked || this.isLoading.value; }

  /** Whether there are changes that are not in the save queue yet. */
  get isDirty() { return this.hasChanges ?? false; }
  set isDirty(value) {
    this.hasChanges = value;
    if (!this.isClosed) this.queue.isWriting.value = value;
  }

  /** The draft of the current segment. @returns {Draft | null} */
  get draft() { return this.segment.value ? this.drafts.get(this.segment.value.number) ?? null : null; }
  get number() { return this.segment.value?.number ?? null; }
  /** Whether the target cannot be edited, because the segment is locked or this person may not write. */
  get isLocked() { return !this.mayWrite || this.segment.value?.state === "locked"; }

  /** Open a segment, which becomes the current one. @param {number} number */
  async open(number) {
    if (this.isClosed) return;
    if (number !== this.wanted || !this.opening) {
      Object.assign(this, { wanted: number, turn: {}, opening: undefined });
      this.loading.value = 0; // operations in progress no longer count: their segments will not be shown
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
      if (this.isClosed || this.wanted !== number || number === this.number) return; // it is shown already, or another one was requested
      this.show(this.withPending(segment));
      replaceAddress("project", this.project, "file", this.file, number);
      this.presence.show();
      this.problem.value = null;
      this.renewal.explain();
      this.matches.find();
      if (this.cache.old.has(number)) this.news.fetchStale();
    } catch (error) {
      if (this.wanted !== number) return;
      this.problem.value = error;
      this.wanted = this.number ?? undefined;
    }
  }

  /** Make the target read-only while work runs that will show another segment. @param {() => Promise<void>} work */
  async load(work) {
    const { turn } = this;
    this.loading.value++;
    try {
      await work();
    } finally {
      if (this.turn === turn) this.loading.value--;
    }
  }

  /** Return whether the target is read-only now; if so, announce why. */
  refuses() {
    if (this.isReadOnly) announce(this.isLocked ? (this.mayWrite ? t.editor.locked : t.editor.readOnly) : t.loading);
    return this.isReadOnly;
  }

  /** Go up or down in the list. @param {number} step 1 or -1 @param {boolean} toOpen skip confirmed ones */
  step(step, toOpen = false) { return walk(this, step, toOpen); }

  /** Handle a change of the draft; it will be saved soon. */
  changed() {
    if (this.isLocked || this.isClosed) return;
    this.revision.value++;
    this.isDirty = true;
    this.autosave ??= setTimeout(() => this.flush(), AUTOSAVE);
  }

  /** Handle start and end of an input method; at the end, states that came meanwhile are shown. @param {boolean} isComposing */
  composing(isComposing) {
    this.isComposing = isComposing;
    const known = this.cache.peek(this.number);
    if (!isComposing && !this.isDirty && known) this.take(known);
  }

  /** Save unsaved changes now; a draft that is the proposal again makes the segment undecided again. */
  flush() {
    this.#stopAutosave();
    if (!this.isDirty) return;
    const isOpen = this.segment.value.state !== "confirmed" && this.draft.isProposal;
    this.#save(isOpen ? "open" : "draft");
  }

  /** Forget unsaved changes, since they were settled another way. */
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

  /** Replace the target by a text; codes are kept. @param {string} text */
  putText(text) {
    if (!this.draft || this.refuses()) return;
    this.draft.write(0, this.draft.content.flat.length, text);
    this.changed();
  }

  /** Replace the target by the source; if both have the same codes, they are placed as in the source. */
  putSource() {
    const { src, src_codes: codes } = this.segment.value ?? {};
    if (!this.draft || !sameCodes(codes, this.draft.content.codes)) return this.putText(src);
    if (this.refuses()) return;
    this.draft.put(fromMarked(src, codes));
    this.changed();
  }

  /** Confirm the segment, and go to the next unconfirmed one. */
  async confirm() {
    if (!this.draft || this.isLoading.value) return; // it is being left, perhaps confirmed
    if (!this.isLocked) this.#save("confirmed");
    await walk(this, 1, true, this.isLocked ? null : this.segment.value);
  }

  /** Undo the confirmation. */
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
    const seconds = state === "seen" ? undefined : this.timer.take(segment.number); // no decision is recorded if it is only seen
    const body = { ...(state === "seen" || state === "open" ? nothing : made), state, seconds };
    const local = withBody(segment, body);
    this.segment.value = local;
    this.cache.set(local);
    this.queue.put(this.file, segment.number, segment.version, body, this.project);
  }

  /** Handle the response of the server to a saved entry. */
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

  /** Return the segment of a response to a save; such a response has no glossary hits, so known ones are kept. */
  readSaved(json) {
    const segment = readSegment(json);
    return json.terms?.length ? segment : { ...segment, terms: this.cache.peek(json.number)?.terms ?? [] };
  }

  /**
   * Handle a newer state of a segment. Unsaved text is kept, with the version on which it is based, so that the server
   * refuses to save it over the text of another person.
   * @param {number} version version on which unsaved text is based
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

  /** Show a segment, with its former draft unless it changed elsewhere. @param {import("../data/segment.js").Segment} segment */
  show(segment) {
    if (segment.number !== this.number) this.flush(); // text written while the new segment was being fetched
    const kept = this.drafts.get(segment.number);
    const isSame = kept?.holds(segment) || (!writtenTarget(segment) && kept?.isProposal); // if not, it changed elsewhere
    const isKept = isSame && kept.proposal.text === segment.proposal.text;
    if (!isKept) {
      const decisions = new Map(segment.decisions.map((one) => [one.edit, one.accepted]));
      this.drafts.set(segment.number, new Draft(segment.proposal, writtenTarget(segment), decisions, segment.version, kept));
    }
    this.timer.turnTo(segment.number);
    this.isDirty = false;
    this.segment.value = segment;
    this.revision.value++;
  }

  /** Return a segment as it will be once changes are saved. @param {import("../data/segment.js").Segment} segment */
  withPending(segment) {
    const entry = this.queue.pending(this.file, segment.number);
    return entry ? { ...withBody(segment, entry.body, Boolean(entry.refused || entry.theirs)), version: entry.version } : segment;
  }
}
