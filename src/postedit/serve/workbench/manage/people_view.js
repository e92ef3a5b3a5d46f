/** Accounts, API keys, and the members of a project, if the service has a sign-in. */
import { html, useState } from "../lib.js";
import { get, patch, post, put, remove } from "../data/api.js";
import { focusHeading, Time, useLoaded, useTitle, Waiting } from "../ui/controls.js";
import { Confirm, Problem, useWork } from "../ui/dialog.js";
import { attempt } from "../ui/messages.js";
import { t } from "../strings.js";
import { PasswordDialog } from "./password.js";
import { listOf } from "./projects_view.js";

const SCOPES = ["edit", "learn", "files", "manage", "admin", "metrics"];

export function PeopleView() {
  useTitle(t.people.title);
  return html`<main id="content" class="page" tabindex="-1"><div class="title"><h1>${t.people.title}</h1></div><${Users} /><${Keys} /></main>`;
}

function Users() {
  const loaded = useLoaded(async () => listOf(await get("/v1/users"), "users"), []);
  const [person, setPerson] = useState(null); // the one whose password is being set
  if (!loaded.value) return html`<${Waiting} loaded=${loaded} />`;
  const add = (event) => {
    event.preventDefault();
    const form = event.currentTarget, values = new FormData(form);
    attempt(async () => {
      await post("/v1/users", { name: values.get("name"), password: values.get("password"), admin: values.get("admin") === "on" });
      form.reset();
      await loaded.reload();
    });
  };
  const change = async (user, values) => {
    await attempt(() => patch(`/v1/users/${user.id}`, values));
    await loaded.reload(); // also after a refusal: what is shown is what is
  };
  return html`<section class="card"><h2>${t.people.users}</h2>
    <div class="scroll" tabindex="0" role="region" aria-label=${t.people.users}><table class="wide"><thead><tr><th scope="col" class="label">${t.people.name}</th><th scope="col" class="label">${t.people.admin}</th><th scope="col" class="label">${t.people.active}</th><th scope="col" class="label">${t.people.password}</th></tr></thead>
      <tbody>${loaded.value.map((user) => html`<tr key=${user.id}><th scope="row"><bdi>${user.name}</bdi></th>
        <td class="label"><input type="checkbox" aria-label=${`${t.people.admin}: ${user.name}`} checked=${!!user.admin} onChange=${(event) => change(user, { admin: event.target.checked })} /></td>
        <td class="label"><button type="button" class="quiet" aria-label=${`${user.active ? t.people.disable : t.people.enable}: ${user.name}`} onClick=${() => change(user, { active: !user.active })}>${user.active ? t.people.disable : t.people.enable}</button></td>
        <td class="label"><button type="button" class="quiet" aria-label=${`${t.password.set}: ${user.name}`} onClick=${() => setPerson(user)}>${t.password.set}</button></td></tr>`)}</tbody></table></div>
    ${person && html`<${PasswordDialog} person=${person} onClose=${() => setPerson(null)} />`}
    <form class="inline" onSubmit=${add} aria-label=${t.people.addUser}><label>${t.people.name}<input name="name" required autocomplete="off" /></label>
      <label>${t.people.password}<input name="password" type="password" required autocomplete="new-password" /></label>
      <label class="check"><input name="admin" type="checkbox" /> ${t.people.admin}</label><button>${t.people.create}</button></form></section>`;
}

function Keys() {
  const loaded = useLoaded(async () => listOf(await get("/v1/keys"), "keys"), []);
  const projects = useLoaded(async () => listOf(await get("/v1/projects"), "projects"), []);
  const [made, setMade] = useState("");
  const [doomed, setDoomed] = useState(null);
  const { problem, run } = useWork();
  if (!loaded.value) return html`<${Waiting} loaded=${loaded} />`;
  const add = (event) => {
    event.preventDefault();
    const form = event.currentTarget, values = new FormData(form);
    run(async () => {
      const answer = await post("/v1/keys", { name: values.get("name"), scopes: values.getAll("scope") });
      setMade(answer.secret ?? answer.key ?? answer.token);
      form.reset();
      await loaded.reload();
    });
  };
  const revoke = async () => {
    await remove(`/v1/keys/${doomed.id}`);
    setDoomed(null);
    await loaded.reload();
    focusHeading();
  };
  const nameOf = (id) => projects.value?.find((one) => one.id === id)?.name ?? id;
  return html`<section class="card"><h2>${t.people.keys}</h2>
    ${made && html`<p class="made" role="status">${t.people.keyShown}<br /><code>${made}</code></p>`}
    ${loaded.value.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label=${t.people.keys}><table class="wide"><thead><tr><th scope="col" class="label">${t.people.name}</th><th scope="col" class="label">${t.people.owner}</th><th scope="col" class="label">${t.people.scopes}</th><th scope="col" class="label">${t.people.projects}</th><th scope="col" class="label">${t.people.created}</th><td></td></tr></thead>
      <tbody>${loaded.value.map((key) => html`<tr key=${key.id}><th scope="row"><bdi>${key.name}</bdi></th><td class="label"><bdi>${key.owner}</bdi></td><td class="label">${(key.scopes ?? []).join(", ")}</td>
        <td class="label">${key.projects ? key.projects.map(nameOf).join(", ") || "–" : t.people.allProjects}</td><td class="label"><${Time} value=${key.created} /></td>
        <td><button type="button" class="quiet" aria-label=${`${t.people.revoke}: ${key.name}`} onClick=${() => setDoomed(key)}>${t.people.revoke}</button></td></tr>`)}</tbody></table></div>`}
    ${doomed && html`<${Confirm} title=${t.people.revokeQuestion(doomed.name)} text=${t.people.revokeText} action=${t.people.revoke} onConfirm=${revoke} onClose=${() => setDoomed(null)} />`}
    <form class="inline" onSubmit=${add} aria-label=${t.people.addKey}><label>${t.people.name}<input name="name" required autocomplete="off" /></label>
      <fieldset><legend>${t.people.scopes}</legend>${SCOPES.map((scope) => html`<label class="check"><input type="checkbox" name="scope" value=${scope} /> ${t.people.scopeNames[scope] ?? scope}</label>`)}</fieldset>
      <button>${t.people.addKey}</button></form><${Problem} text=${problem} /></section>`;
}

/** @param {{project: any, onChange: () => void}} props */
export function Members({ project, onChange }) {
  const loaded = useLoaded(async () => listOf(await get("/v1/users"), "users"), []);
  if (!loaded.value) return null;
  const set = (user) => async (event) => {
    await attempt(() => put(`/v1/projects/${project.id}/members/${user.id}`, { role: event.target.value || null }));
    onChange(); // the role may be one's own
    await loaded.reload(); // also after a refusal: what is shown is what is
  };
  return html`<section class="card narrow"><h2>${t.people.members}</h2>${loaded.value.map((user) => html`<label class="member" key=${user.id}><bdi>${user.name}</bdi>
    <select value=${user.roles?.[project.id] ?? ""} onChange=${set(user)}><option value="">–</option>${Object.entries(t.people.roles).map(([role, name]) => html`<option value=${role}>${name}</option>`)}</select></label>`)}</section>`;
}
