/** The workbench: shows the view of the current address, and the parts that all views share. */
import { html, render, useEffect, useMemo, useRef, useState } from "./lib.js";
import { get } from "./data/api.js";
import { address, isId, numberOf, route } from "./data/router.js";
import { SaveQueue } from "./data/save_queue.js";
import { hasAccounts, isSignedOut, loadSession, session, signOut, user } from "./data/session.js";
import { EditorView } from "./editor/editor_view.js";
import { Help } from "./editor/help.js";
import { shortcutOf } from "./editor/shortcuts.js";
import { PasswordDialog } from "./manage/password.js";
import { PeopleView } from "./manage/people_view.js";
import { ProjectView } from "./manage/project_view.js";
import { ProjectsView } from "./manage/projects_view.js";
import { SignIn } from "./manage/sign_in.js";
import { focusHeading, shownName, Waiting, useLoaded, useTitle } from "./ui/controls.js";
import { isGone, LeftTexts } from "./ui/left_texts.js";
import { attempt, Messages } from "./ui/messages.js";
import { t } from "./strings.js";

function App() {
  const loaded = useLoaded(loadSession, []);
  const [isHelping, setHelping] = useState(false);
  const openHelp = useMemo(() => () => setHelping(true), []);
  const name = user.value?.name ?? "";
  const queue = useMemo(() => (name ? new SaveQueue(name, { onSaved: () => {} }) : null), [name]);
  useEffect(() => {
    queue?.start();
    return () => queue?.stop();
  }, [queue]);
  useEffect(() => { if (queue && !isSignedOut.value) queue.retry(); }, [queue, isSignedOut.value]);
  useEffect(() => {
    const onKey = (event) => { if (!event.defaultPrevented && shortcutOf(event)?.id === "help") { event.preventDefault(); setHelping(true); } };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  if (!session.value) return html`<main id="content" class="page">${loaded.error ? html`<${Waiting} loaded=${loaded} />` : ""}</main>`;
  if (isSignedOut.value) return html`<${SignIn} /><${Messages} />`;
  return html`<${Shell} queue=${queue} onHelp=${openHelp} />
    ${isHelping && html`<${Help} onClose=${() => setHelping(false)} />`}<${Messages} />`;
}

function Shell({ queue, onHelp }) {
  const [kind, id, view, file, number] = route.value;
  const isProject = kind === "project" && isId(id);
  const loaded = useLoaded(async () => (isProject ? get(`/v1/projects/${encodeURIComponent(id)}`) : null), [isProject ? id : "", view]);
  const project = isProject && loaded.value?.id === id && !isGone(loaded.error) ? loaded.value : null;
  const title = [shownName.value, project?.name, t.brand].filter(Boolean).join(" · ");
  useEffect(() => {
    document.title = title;
    return () => { document.title = t.brand; }; // no name of a project stays after signing out
  }, [title]);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current && document.activeElement === document.body) focusHeading(); // the link that led here is gone
    isFirst.current = false;
  }, [kind, id, view, file]);
  return html`
    <a class="skip" href="#content" onClick=${skip}>${t.skipToContent}</a>
    <${Head} project=${project} queue=${queue} onHelp=${onHelp} />
    ${currentView()}`;

  function currentView() {
    if (kind === "people") return html`<${PeopleView} />`;
    if (!isProject) return kind ? html`<${NotFound} />` : html`<${ProjectsView} />`;
    if (!project) {
      return html`<main id="content" class="page"><${Waiting} loaded=${loaded} />
        ${isGone(loaded.error) && html`<${LeftTexts} queue=${queue} isHere=${(entry) => entry.project === id} />`}</main>`;
    }
    if (view === "file" && file) {
      return isId(file) ? html`<${EditorView} key=${file} project=${project} file=${file} number=${numberOf(number)} queue=${queue} onHelp=${onHelp} />` : html`<${NotFound} />`;
    }
    return html`<${ProjectView} project=${project} view=${view ?? "files"} onChange=${loaded.reload} />`;
  }
}

/** Move the focus to the main part of the view: the target field, or the content. */
function skip(event) {
  event.preventDefault();
  (document.querySelector(".field") ?? document.getElementById("content"))?.focus();
}

function Head({ project, queue, onHelp }) {
  const [isChanging, setChanging] = useState(false); // the person's own password
  return html`<header class="head"><nav aria-label=${t.nav.main}>
      <a class="brand" href=${address()}>${t.brand}</a>
      ${project && html`<span aria-hidden="true" class="soft">/</span><a href=${address("project", project.id)}><bdi>${project.name}</bdi></a>`}</nav>
    <${SaveState} queue=${queue} />
    <nav class="tools" aria-label=${t.nav.help}>
      ${user.value?.admin && hasAccounts.value && html`<a href=${address("people")}>${t.nav.people}</a>`}
      ${hasAccounts.value && html`<button type="button" class="quiet" aria-label=${`${user.value?.name}: ${t.password.change}`} title=${t.password.change} onClick=${() => setChanging(true)}><bdi>${user.value?.name}</bdi></button><button type="button" class="quiet" onClick=${() => attempt(signOut)}>${t.nav.signOut}</button>`}
      <button type="button" class="quiet" title=${t.nav.helpKeys} onClick=${onHelp}>${t.nav.help} <kbd>F1</kbd></button></nav>
    ${isChanging && html`<${PasswordDialog} person=${user.value} onClose=${() => setChanging(false)} />`}</header>`;
}

/** Shows whether everything is saved; a change that waits for the person does not hide that others are not. */
function SaveState({ queue }) {
  if (!queue) return null;
  const count = new Set(queue.waiting.value.map((entry) => `${entry.file} ${entry.number}`)).size;
  const conflicts = queue.conflicts.value, refused = queue.entries.value.filter((entry) => entry.refused);
  const [troubled] = [...conflicts, ...refused];
  const [tone, text, said = text] = stateOf(queue, count);
  const trouble = conflicts.length ? t.save.conflicts(conflicts.length) : t.save.refused(refused.length);
  const link = troubled && html`<span role="status"><a class="save-state bad" href=${address("project", troubled.project, "file", troubled.file, troubled.number)}>${trouble}</a></span>`;
  if (troubled && tone !== "bad") return link;
  return html`${link}<span class=${`save-state ${tone}`} title=${queue.delayed.length ? queue.delays.value.get(queue.delayed[0].edit_id).why : undefined}>${text}</span>
    <span class="unseen" role="status">${tone === "bad" ? said : ""}</span>`; // screen readers announce problems only
}

function stateOf(queue, count) {
  if (!queue.isKept.value && count) return ["bad", t.save.notKept(count)];
  if (queue.isOffline.value) return ["bad", t.save.offline(count), t.save.offline(0)];
  if (queue.delayed.length) return ["bad", t.save.delayed(queue.delayed.length)];
  return count || queue.isWriting.value ? ["middling", t.save.saving] : ["good", t.save.saved];
}

function NotFound() {
  useTitle(t.errors.notFound);
  return html`<main id="content" class="page"><h1>${t.errors.notFound}</h1><p><a href=${address()}>${t.errors.home}</a></p></main>`;
}

render(html`<${App} />`, document.getElementById("app"));
