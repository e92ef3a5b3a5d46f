/** The page on which people sign in. */
import { html } from "../lib.js";
import { signIn, user } from "../data/session.js";
import { focusHeading } from "../ui/controls.js";
import { Problem, useWork } from "../ui/dialog.js";
import { t } from "../strings.js";

export function SignIn() {
  const { problem, run } = useWork();
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    run(async () => {
      await signIn(form.get("name"), form.get("password"));
      focusHeading();
    });
  };
  return html`<main id="content" class="sign-in">
    <h1>${t.brand}</h1>
    <form class="card fields" onSubmit=${submit} aria-label=${t.signIn.title}>
      <h2>${t.signIn.title}</h2>
      ${user.value && html`<p class="hint">${t.signIn.again}</p>`}
      <${Problem} text=${problem} />
      <label>${t.signIn.name}<input name="name" required autofocus autocomplete="username" /></label>
      <label>${t.signIn.password}<input name="password" type="password" required autocomplete="current-password" /></label>
      <div class="actions"><button class="primary">${t.signIn.submit}</button></div>
    </form></main>`;
}
