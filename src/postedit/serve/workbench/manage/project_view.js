/** A project: its views as tabs, and its settings. */
import { html, useState } from "../lib.js";
import { patch, remove } from "../data/api.js";
import { address, go } from "../data/router.js";
import { hasAccounts } from "../data/session.js";
import { answerConsent, consent } from "../editor/timer.js";
import { focusHeading, useTitle } from "../ui/controls.js";
import { ConfirmByName } from "../ui/dialog.js";
import { attempt, toast } from "../ui/messages.js";
import { t } from "../strings.js";
import { AuditView } from "./audit_view.js";
import { FilesView } from "./files_view.js";
import { GlossaryView } from "./glossary_view.js";
import { LearntView } from "./learnt_view.js";
import { Members } from "./people_view.js";
import { ProgressView } from "./progress_view.js";
import { languagesOf } from "./projects_view.js";

const OF_MANAGERS = ["audit"];

const VIEWS = {
  files: [t.nav.files, FilesView],
  progress: [t.nav.progress, ProgressView],
  learnt: [t.nav.learnt, LearntView],
  glossary: [t.nav.glossary, GlossaryView],
  audit: [t.nav.audit, AuditView],
  settings: [t.nav.settings, SettingsView],
};

/** @param {{project: any, view: string, onChange: () => void}} props */
export function ProjectView({ project, view, onChange }) {
  const names = Object.keys(VIEWS).filter((one) => project.role === "manager" || !OF_MANAGERS.includes(one));
  const name = names.includes(view) ? view : "files";
  const [title, View] = VIEWS[name];
  useTitle(title);
  return html`<main id="content" class="page" tabindex="-1">
    <div class="title"><h1><bdi>${project.name}</bdi></h1><p class="soft">${languagesOf(project)}</p></div>
    <nav class="tabs" aria-label=${t.nav.project}>${names.map((key) => html`
      <a href=${key === "files" ? address("project", project.id) : address("project", project.id, key)} aria-current=${key === name ? "page" : undefined}>${VIEWS[key][0]}</a>`)}</nav>
    <${View} key=${project.id} project=${project} onChange=${onChange} />
  </main>`;
}

function SettingsView({ project, onChange }) {
  const [least, setLeast] = useState(String(project.min_confidence ?? 0));
  const [isDoomed, setDoomed] = useState(false);
  const save = (event) => {
    event.preventDefault();
    attempt(async () => {
      await patch(`/v1/projects/${project.id}`, { min_confidence: Number(least) });
      toast(t.settings.saved);
      onChange();
    });
  };
  const destroy = async () => {
    await remove(`/v1/projects/${project.id}`);
    go();
    focusHeading();
  };
  const isManager = project.role === "manager";
  return html`<div class="stack">
    ${isManager && html`<form class="card fields narrow" onSubmit=${save}>
      <label>${t.settings.minConfidence}<input type="number" required min="0" max="1" step="0.05" value=${least} onInput=${(event) => setLeast(event.target.value)} /></label>
      <p class="hint">${t.settings.minConfidenceHint}</p>
      <div class="actions"><button class="primary">${t.settings.save}</button></div>
    </form>`}
    <div class="card narrow"><label class="check"><input type="checkbox" checked=${consent.value === "yes"} onChange=${(event) => answerConsent(event.target.checked ? "yes" : "no")} /> ${t.settings.timer}</label>
      <p class="hint">${t.settings.timerHint}</p></div>
    ${isManager && hasAccounts.value && html`<${Members} project=${project} onChange=${onChange} />`}
    ${isManager && html`<div class="card narrow"><p>${t.settings.wholeText}</p>
      <div class="actions"><a class="button" href=${`/v1/projects/${encodeURIComponent(project.id)}/export`} download>${t.files.export}</a>
        <button type="button" class="danger" onClick=${() => setDoomed(true)}>${t.settings.remove}</button></div></div>`}
    ${isDoomed && html`<${ConfirmByName} title=${t.settings.remove} text=${t.settings.removeText} label=${t.settings.removeConfirm}
      name=${project.name} action=${t.settings.remove} onConfirm=${destroy} onClose=${() => setDoomed(false)} />`}
  </div>`;
}
