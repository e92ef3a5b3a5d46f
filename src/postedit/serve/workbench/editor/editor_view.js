/** The editor view: the list of segments, the current segment, and the reasons beside it. */
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib.js";
import { ApiError, get } from "../data/api.js";
import { listen } from "../data/live_events.js";
import { numberOf, route } from "../data/router.js";
import { codeOffsets } from "../core/flat_text.js";
import { useLoaded, useTitle, Waiting } from "../ui/controls.js";
import { Dialog } from "../ui/dialog.js";
import { isGone, LeftTexts } from "../ui/left_texts.js";
import { announce } from "../ui/messages.js";
import { t } from "../strings.js";
import { Context } from "./context.js";
import { Editing } from "./editing.js";
import { PastDialog } from "./past_view.js";
import { bestMatch, Beside } from "./reasons_view.js";
import { SegmentCard } from "./segment_card.js";
import { SegmentList } from "./segment_list.js";
import { REPEATED, shortcutOf } from "./shortcuts.js";
import { answerConsent, consent } from "./timer.js";

/** @param {{project: any, file: string, number: number | null, queue: import("../data/save_queue.js").SaveQueue, onHelp: () => void}} props */
export function EditorView({ project, file, number, queue, onHelp }) {
  const loaded = useLoaded(async () => {
    const found = await get(`/v1/files/${file}`);
    if (found.project !== project.id) throw new ApiError(404, t.errors.notFound); // what one may do differs in its own project
    return found;
  }, [file]);
  if (!loaded.value) {
    return html`<main id="content" class="page"><${Waiting} loaded=${loaded} />
      ${isGone(loaded.error) && html`<${LeftTexts} queue=${queue} isHere=${(entry) => entry.file === file} />`}</main>`;
  }
  return html`<${Workplace} key=${file} project=${project} file=${loaded.value} number=${number} queue=${queue} onHelp=${onHelp} />`;
}

function Workplace({ project, file, number, queue, onHelp }) {
  const mayWrite = project.role !== "reader";
  useTitle(file.name);
  const editing = useMemo(() => new Editing(project.id, file.id, queue, mayWrite), [project.id, file.id, queue, mayWrite]);
  const fieldRef = useRef(null);
  const [isLookingBack, setLookingBack] = useState(false);
  const [isGoing, setGoing] = useState(false);
  const [isListOpen, setListOpen] = useState(false);
  const languages = [file.source_language || project.source_language, file.target_language || project.target_language];

  useEffect(() => {
    queue.onSaved = (entry, answer) => editing.saved(entry, answer);
    begin(editing, number);
    const onReturn = () => editing.news.returned();
    const stop = listen(project.id, (kind, data) => editing.news.heard(kind, data), (isFirst) => {
      queue.retry();
      onReturn();
      if (isFirst) editing.news.missed();
    });
    addEventListener("online", onReturn); // earlier than the stream of events notices it
    return () => {
      stop();
      removeEventListener("online", onReturn);
      editing.close();
    };
  }, [editing]);
  useLayoutEffect(() => { // not later, when a key may already have opened the next segment
    const isNow = number === numberOf(route.peek()[4]); // if not, the next segment was shown before this ran
    if (number !== null && isNow) editing.open(number);
  }, [number]);

  const focusField = () => { setListOpen(false); fieldRef.current?.focus(); };
  const onFind = (id) => {
    const focus = () => document.getElementById(id)?.focus();
    focus();
    setListOpen(true);
    requestAnimationFrame(focus); // small screens show the list only now
  };
  const onPast = () => { if (editing.segment.value?.version && !editing.isLoading.value) setLookingBack(true); };
  useEffect(() => {
    const commands = commandsOf(editing, fieldRef, { onHelp, onGo: () => setGoing(true), onPast, onFind, onField: focusField });
    const onKey = (event) => {
      const found = document.querySelector("dialog[open]") ? null : shortcutOf(event);
      const command = found && commands[found.id];
      if (!command) return;
      event.preventDefault();
      if (!event.repeat || REPEATED.has(found.id)) command(found.key);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [editing, onHelp]);

  const segment = editing.segment.value;
  return html`
    <div class=${isListOpen ? "workplace list-open" : "workplace"}>
      <button type="button" class="list-toggle" aria-expanded=${isListOpen ? "true" : "false"} onClick=${() => setListOpen(!isListOpen)}>${t.editor.showList}</button>
      <${SegmentList} editing=${editing} languages=${languages} onEnter=${focusField} />
      <main id="content" class="work" tabindex="-1" aria-busy=${editing.isLoading.value ? "true" : "false"}>
        <h1 class="unseen">${file.name}</h1>
        ${mayWrite && html`<${TimerQuestion} />`}
        ${editing.problem.value && html`<p class="warning" role="alert">${editing.problem.value.message}</p>`}
        ${segment && editing.draft
          ? html`<${Context} editing=${editing} languages=${languages} side=${-1} />
            <${SegmentCard} editing=${editing} languages=${languages} fieldRef=${fieldRef} onPast=${onPast} />
            <${Context} editing=${editing} languages=${languages} side=${1} />`
          : html`<p class="hint">${editing.isLoading.value ? t.loading : t.editor.open}</p>`}
      </main>
      <${Beside} editing=${editing} languages=${languages} />
      ${isGoing && html`<${GoTo} editing=${editing} onClose=${() => setGoing(false)} />`}
      ${isLookingBack && segment && html`<${PastDialog} key=${segment.number} editing=${editing} language=${languages[1]} onClose=${() => setLookingBack(false)} />`}
    </div>`;
}

/** Load the list, and open the segment of the address, or the first unconfirmed one. */
async function begin(editing, number) {
  const listed = editing.cache.choose({ filter: "", q: "", from: "" });
  if (number !== null) return;
  editing.isBeginning = true;
  await listed;
  const open = await editing.cache.firstOpen(0).catch(() => Infinity);
  const first = open === Infinity ? editing.cache.numbers.value?.[0] : open;
  editing.isBeginning = false;
  if (first !== undefined && editing.wanted === undefined) await editing.open(first);
}

function commandsOf(editing, fieldRef, { onHelp, onGo, onPast, onFind, onField }) {
  return {
    confirm: () => editing.confirm(),
    next: () => editing.step(1),
    previous: () => editing.step(-1),
    nextOpen: () => editing.step(1, true),
    previousOpen: () => editing.step(-1, true),
    reopen: () => editing.reopen(),
    toggle: (key) => editing.toggle(Number(key.at(-1)) - 1),
    acceptAll: () => editing.chooseAll(true),
    rejectAll: () => editing.chooseAll(false),
    undo: () => editing.undo(),
    redo: () => editing.redo(),
    moveTag: (key) => moveTag(editing, fieldRef.current, key.endsWith("Left") ? -1 : 1),
    takeSource: () => editing.putSource(),
    useMatch: () => useBestMatch(editing),
    past: onPast,
    search: () => onFind("search"),
    filter: () => onFind("filter"),
    goTo: onGo,
    field: onField,
    help: onHelp,
  };
}

function useBestMatch(editing) {
  const best = bestMatch(editing);
  if (best) editing.putText(best.target);
  else announce(t.reasons.noMatch);
}

/** Move the code next to the caret by one character; of two, the one in the direction of the move. */
function moveTag(editing, field, direction) {
  const { draft } = editing;
  if (!draft || editing.refuses()) return;
  const step = getComputedStyle(field.element).direction === "rtl" ? -direction : direction;
  const offsets = codeOffsets(draft.content.flat);
  const { end } = draft.state;
  const beside = step > 0 ? [end, end - 1] : [end - 1, end];
  const at = beside.find((offset) => offsets.includes(offset));
  if (at === undefined) return;
  const goal = step > 0 ? nextPlace(draft.content.flat, at + 1) : previousPlace(draft.content.flat, at);
  if (goal !== null) field.moveCode(offsets.indexOf(at), goal);
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

function nextPlace(flat, at) {
  const [next] = graphemes.segment(flat.slice(at));
  return next ? at + next.segment.length : null;
}

function previousPlace(flat, at) {
  const last = Array.from(graphemes.segment(flat.slice(0, at))).at(-1);
  return last ? last.index : null;
}

function GoTo({ editing, onClose }) {
  const [text, setText] = useState("");
  const submit = (event) => {
    event.preventDefault();
    const number = numberOf(text);
    if (number === null) return;
    onClose();
    editing.open(number);
  };
  return html`<${Dialog} title=${t.editor.goTo} onClose=${onClose}>
    <form class="fields" onSubmit=${submit}><label>${t.editor.goToNumber}
      <input autofocus inputmode="numeric" pattern="0*[1-9][0-9]{0,8}" required value=${text} onInput=${(event) => setText(event.target.value)} /></label>
      <div class="actions"><button class="primary">${t.editor.goTo}</button></div></form>
  <//>`;
}

function TimerQuestion() {
  if (consent.value) return null;
  return html`<p class="question"><span class="grow">${t.timer.question}</span>
    <button type="button" onClick=${() => answerConsent("yes")}>${t.timer.yes}</button>
    <button type="button" class="quiet" onClick=${() => answerConsent("no")}>${t.timer.no}</button></p>`;
}
