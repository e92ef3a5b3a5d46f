/** Dialog to change one's own password, or, for administrators, to set those of others. */
import { html } from "../lib.js";
import { patch } from "../data/api.js";
import { signIn, user } from "../data/session.js";
import { Dialog, Problem, useWork } from "../ui/dialog.js";
import { toast } from "../ui/messages.js";
import { t } from "../strings.js";

/** @param {{person: {id: string, name: string}, onClose: () => void}} props */
export function PasswordDialog({ person, onClose }) {
  const { problem, tell, run } = useWork();
  const isOwn = person.id === user.value?.id;
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget), password = String(form.get("password"));
    if (password !== form.get("again")) return tell(t.password.differ);
    return run(async () => {
      await patch(`/v1/users/${person.id}`, { password });
      if (isOwn) await signIn(person.name, password); // a new password ends all sessions, this one too
      toast(t.password.changed(person.name));
      onClose();
    });
  };
  return html`<${Dialog} title=${t.password.title(person.name)} onClose=${onClose}>
    <form class="fields" onSubmit=${submit}>
      <p class="hint">${t.password.hint}</p><${Problem} text=${problem} />
      <label>${t.password.new}<input name="password" type="password" autofocus required autocomplete="new-password" /></label>
      <label>${t.password.again}<input name="again" type="password" required autocomplete="new-password" /></label>
      <div class="actions"><button type="button" onClick=${onClose}>${t.cancel}</button><button class="primary">${t.password.change}</button></div>
    </form><//>`;
}
