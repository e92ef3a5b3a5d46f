/** The page on which people sign in. */
import { html, useState } from "../lib.js";
import { signIn, user } from "../data/session.js";
import { focusHeading } from "../ui/controls.js";
import { t } from "../strings.js";

export function SignIn() {
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    try {
      await signIn(form.get("name"), form.get("password"));
      focusHeading();
    } catch (error) {
      setProblem(error.message);
    }
    setBusy(false);
  };
  return html`<main id="content" class="sign-in">
    <h1>${t.brand}</h1>
    <form class="card fields" onSubmit=${submit} aria-label=${t.signIn.title}>
      <h2>${t.signIn.title}</h2>
      ${user.value && html`<p class="hint">${t.signIn.again}</p>`}
      ${problem && html`<p class="warning" role="alert">${problem}</p>`}
      <label>${t.signIn.name}<input name="name" required autofocus autocomplete="username" /></label>
      <label>${t.signIn.password}<input name="password" type="password" required autocomplete="current-password" /></label>
      <div class="actions"><button class="primary" disabled=${isBusy}>${t.signIn.submit}</button></div>
    </form></main>`;
}
