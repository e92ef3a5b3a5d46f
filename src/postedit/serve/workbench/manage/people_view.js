/** Accounts, keys for programs, and the members of a project; where people sign in. */
import { html, useState } from "../lib.js";
import { get, patch, post, put, remove } from "../data/api.js";
import { Time, useLoaded, Waiting } from "../ui/controls.js";
import { attempt } from "../ui/messages.js";
import { t } from "../strings.js";
import { listOf } from "./projects_view.js";

const SCOPES = ["edit", "learn", "files", "manage", "admin"];

export function PeopleView() {
  return html`<main id="content" class="page" tabindex="-1"><div class="title"><h1>${t.people.title}</h1></div><${Users} /><${Keys} /></main>`;
}

function Users() {
  const loaded = useLoaded(async () => listOf(await get("/v1/users"), "users"), []);
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
  const change = (user, values) => attempt(async () => { await patch(`/v1/users/${user.id}`, values); await loaded.reload(); });
  return html`<section class="card"><h2>${t.people.users}</h2>
    <table class="wide"><thead><tr><th scope="col" class="label">${t.people.name}</th><th scope="col" class="label">${t.people.admin}</th><th scope="col" class="label">${t.people.active}</th></tr></thead>
      <tbody>${loaded.value.map((user) => html`<tr key=${user.id}><th scope="row"><bdi>${user.name}</bdi></th>
        <td class="label"><input type="checkbox" aria-label=${`${t.people.admin}: ${user.name}`} checked=${!!user.admin} onChange=${(event) => change(user, { admin: event.target.checked })} /></td>
        <td class="label"><button type="button" class="quiet" onClick=${() => change(user, { active: !user.active })}>${user.active ? t.people.disable : t.people.enable}</button></td></tr>`)}</tbody></table>
    <form class="inline" onSubmit=${add} aria-label=${t.people.addUser}><label>${t.people.name}<input name="name" required autocomplete="off" /></label>
      <label>${t.people.password}<input name="password" type="password" required autocomplete="new-password" /></label>
      <label class="check"><input name="admin" type="checkbox" /> ${t.people.admin}</label><button>${t.people.create}</button></form></section>`;
}

function Keys() {
  const loaded = useLoaded(async () => listOf(await get("/v1/keys"), "keys"), []);
  const [made, setMade] = useState("");
  if (!loaded.value) return html`<${Waiting} loaded=${loaded} />`;
  const add = (event) => {
    event.preventDefault();
    const form = event.currentTarget, values = new FormData(form);
    attempt(async () => {
      const answer = await post("/v1/keys", { name: values.get("name"), scopes: values.getAll("scope") });
      setMade(answer.secret ?? answer.key ?? answer.token);
      form.reset();
      await loaded.reload();
    });
  };
  const revoke = (key) => attempt(async () => { await remove(`/v1/keys/${key.id}`); await loaded.reload(); });
  return html`<section class="card"><h2>${t.people.keys}</h2>
    ${made && html`<p class="made" role="status">${t.people.keyShown}<br /><code>${made}</code></p>`}
    ${loaded.value.length > 0 && html`<table class="wide"><thead><tr><th scope="col" class="label">${t.people.name}</th><th scope="col" class="label">${t.people.scopes}</th><th scope="col" class="label">${t.people.created}</th><td></td></tr></thead>
      <tbody>${loaded.value.map((key) => html`<tr key=${key.id}><th scope="row"><bdi>${key.name}</bdi></th><td class="label">${(key.scopes ?? []).join(", ")}</td><td class="label"><${Time} value=${key.created} /></td>
        <td><button type="button" class="quiet" aria-label=${`${t.people.revoke}: ${key.name}`} onClick=${() => revoke(key)}>${t.people.revoke}</button></td></tr>`)}</tbody></table>`}
    <form class="inline" onSubmit=${add} aria-label=${t.people.addKey}><label>${t.people.name}<input name="name" required autocomplete="off" /></label>
      <fieldset><legend>${t.people.scopes}</legend>${SCOPES.map((scope) => html`<label class="check"><input type="checkbox" name="scope" value=${scope} /> ${scope}</label>`)}</fieldset>
      <button>${t.people.addKey}</button></form></section>`;
}

/** @param {{project: any}} props */
export function Members({ project }) {
  const loaded = useLoaded(async () => listOf(await get("/v1/users"), "users"), []);
  if (!loaded.value) return null;
  const set = (user) => (event) => attempt(() => put(`/v1/projects/${project.id}/members/${user.id}`, { role: event.target.value || null }));
  return html`<section class="card narrow"><h2>${t.people.members}</h2>${loaded.value.map((user) => html`<label class="member" key=${user.id}><bdi>${user.name}</bdi>
    <select value=${user.roles?.[project.id] ?? ""} onChange=${set(user)}><option value="">–</option>${Object.entries(t.people.roles).map(([role, name]) => html`<option value=${role}>${name}</option>`)}</select></label>`)}</section>`;
}
