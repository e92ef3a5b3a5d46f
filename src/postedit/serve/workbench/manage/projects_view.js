/** All projects, and a form for a new one. */
import { html, useState } from "../lib.js";
import { get, post } from "../data/api.js";
import { address, go } from "../data/router.js";
import { progressOf } from "../data/segment.js";
import { user } from "../data/session.js";
import { Bar, useLoaded, Waiting } from "../ui/controls.js";
import { Dialog, Problem, useWork } from "../ui/dialog.js";
import { t } from "../strings.js";

/** Return the list in an answer, which may have it under a name. @param {any} answer @param {string} name */
export const listOf = (answer, name) => (Array.isArray(answer) ? answer : answer[name] ?? answer.entries ?? answer.data ?? []);

/** @param {{source_language: string, target_language: string}} project */
export const languagesOf = ({ source_language: source, target_language: target }) => (source || target ? `${source || "?"} → ${target || "?"}` : t.projects.anyLanguages);

export function ProjectsView() {
  const loaded = useLoaded(async () => listOf(await get("/v1/projects"), "projects"), []);
  const isAdmin = user.value?.admin; // only administrators may create projects
  const [isMaking, setMaking] = useState(false);
  return html`<main id="content" class="page" tabindex="-1">
    <div class="title"><h1>${t.projects.title}</h1>
      ${isAdmin && html`<button type="button" class="primary" onClick=${() => setMaking(true)}>${t.projects.create}</button>`}</div>
    ${!loaded.value ? html`<${Waiting} loaded=${loaded} />`
      : loaded.value.length === 0 ? html`<p class="hint">${isAdmin ? t.projects.empty : t.projects.none}</p>`
      : html`<ul class="cards">${loaded.value.map((project) => html`<${ProjectCard} key=${project.id} project=${project} />`)}</ul>`}
    ${isMaking && html`<${NewProject} onClose=${() => setMaking(false)} />`}
  </main>`;
}

function ProjectCard({ project }) {
  const share = progressOf(project);
  return html`<li class="card">
    <h2><a href=${address("project", project.id)}><bdi>${project.name}</bdi></a></h2>
    <p class="soft">${[languagesOf(project), project.model].filter(Boolean).join(" · ")}</p>
    <p class="soft">${t.projects.summary(project)}</p>
    <${Bar} value=${share} label=${t.projects.progress(project)} /><p class="soft small">${t.projects.progress(project)}</p>
  </li>`;
}

function NewProject({ onClose }) {
  const models = useLoaded(async () => listOf(await get("/v1/models"), "data"), []);
  const [values, setValues] = useState({ name: "", source_language: "", target_language: "", model: "" });
  const { problem, run } = useWork();
  const change = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  const chooseModel = (event) => {
    const model = (models.value ?? []).find((one) => one.id === event.target.value);
    const [source, target] = model?.languages ?? [];
    setValues({ ...values, model: event.target.value, source_language: values.source_language || source || "", target_language: values.target_language || target || "" });
  };
  const submit = (event) => {
    event.preventDefault();
    run(async () => {
      const project = await post("/v1/projects", { ...values, model: values.model || undefined });
      onClose();
      go("project", project.id);
    });
  };
  return html`<${Dialog} title=${t.projects.create} onClose=${onClose}>
    <form class="fields" onSubmit=${submit}>
      <${Problem} text=${problem} />
      <label>${t.projects.name}<input autofocus required autocomplete="off" value=${values.name} onInput=${change("name")} /></label>
      <label>${t.projects.model}<select value=${values.model} onChange=${chooseModel}>
        <option value="">${t.projects.modelDefault}</option>
        ${(models.value ?? []).map((model) => html`<option value=${model.id}>${model.id}${model.languages?.[0] ? ` (${model.languages.join(" → ")})` : ""}</option>`)}
      </select></label>
      <div class="pair">
        <label>${t.projects.source}<input required autocomplete="off" pattern="[A-Za-z]{2,3}([\\-_][A-Za-z0-9]+)*" title=${t.projects.languageHint} value=${values.source_language} onInput=${change("source_language")} /></label>
        <label>${t.projects.target}<input required autocomplete="off" pattern="[A-Za-z]{2,3}([\\-_][A-Za-z0-9]+)*" title=${t.projects.languageHint} value=${values.target_language} onInput=${change("target_language")} /></label>
      </div>
      <p class="hint">${t.projects.languageHint}</p>
      <div class="actions"><button type="button" onClick=${onClose}>${t.cancel}</button><button class="primary">${t.projects.submit}</button></div>
    </form><//>`;
}
