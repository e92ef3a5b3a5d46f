/** The help dialog, which lists all keys. */
import { html } from "../lib.js";
import { Dialog } from "../ui/dialog.js";
import { t } from "../strings.js";
import { keysOf, SHORTCUTS } from "./shortcuts.js";

/** @param {{onClose: () => void}} props */
export function Help({ onClose }) {
  return html`<${Dialog} title=${t.help.title} onClose=${onClose} wide>
    <p class="hint">${t.help.intro}</p>
    <div class="help">${Object.entries(t.help.groups).map(([group, title]) => html`
      <section><h3>${title}</h3><dl>${SHORTCUTS.filter((one) => one.group === group).map(({ id }) => html`
        <div><dt><${Keys} text=${keysOf(id)} /></dt><dd>${t.help.keys[id]}</dd></div>`)}</dl></section>`)}</div>
  <//>`;
}

const Keys = ({ text }) => text.split(" or ").map((way, index) => html`${index > 0 && " or "}${way.split("+").map((key, part) => html`${part > 0 && "+"}<kbd>${key}</kbd>`)}`);
