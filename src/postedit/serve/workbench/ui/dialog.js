/** Dialogs, made of the HTML element `dialog`, which keeps the focus and closes on Escape. */
import { html, useEffect, useId, useRef, useState } from "../lib.js";
import { ApiError } from "../data/api.js";
import { t } from "../strings.js";

/** @param {{title: string, onClose: () => void, children: any, wide?: boolean}} props */
export function Dialog({ title, onClose, children, wide = false }) {
  const ref = useRef(null);
  const name = useId();
  useEffect(() => {
    const dialog = ref.current, before = document.activeElement;
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close(); // while it is still on the page, else the element below cannot get the focus
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  const onBackdrop = (event) => { if (event.target === ref.current) onClose(); };
  return html`
    <dialog ref=${ref} class=${wide ? "wide" : ""} aria-labelledby=${name} onClose=${(event) => { if (event.target === ref.current) onClose(); }} onClick=${onBackdrop}>
      <div class="dialog-head"><h2 id=${name}>${title}</h2>
        <button type="button" class="quiet" aria-label=${t.close} onClick=${onClose}>✕</button></div>
      <div class="dialog-body">${children}</div>
    </dialog>`;
}

/**
 * Run the work of a dialog, once at a time. Its error is shown in the dialog, which would hide messages elsewhere.
 * @returns {{problem: string, tell: (problem: string) => void, run: (work: () => Promise<any>) => Promise<void>}}
 */
export function useWork() {
  const [problem, tell] = useState("");
  const isBusy = useRef(false); // buttons are not disabled meanwhile, since they would lose the focus
  const run = async (work) => {
    if (isBusy.current) return;
    isBusy.current = true;
    tell("");
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      tell(error.message);
    } finally {
      isBusy.current = false;
    }
  };
  return { problem, tell, run };
}

/** The problem of a dialog, if there is one. @param {{text: string}} props */
export const Problem = ({ text }) => (text ? html`<p class="warning" role="alert">${text}</p>` : null);

/** Ask before something is lost. @param {{title: string, text: string, action: string, onConfirm: () => Promise<any>, onClose: () => void}} props */
export function Confirm({ title, text, action, onConfirm, onClose }) {
  const { problem, run } = useWork();
  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <p>${text}</p><${Problem} text=${problem} />
      <div class="actions"><button type="button" autofocus onClick=${onClose}>${t.cancel}</button>
        <button type="button" class="danger" onClick=${() => run(onConfirm)}>${action}</button></div>
    <//>`;
}

/** Ask to type a name before something is lost. @param {{title: string, text: string, label: string, name: string, action: string, onConfirm: () => Promise<any>, onClose: () => void}} props */
export function ConfirmByName({ title, text, label, name, action, onConfirm, onClose }) {
  const [typed, setTyped] = useState("");
  const { problem, run } = useWork();
  const isRight = typed.trim() === name.trim();
  const submit = (event) => {
    event.preventDefault();
    if (isRight) run(onConfirm);
  };
  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <form class="fields" onSubmit=${submit}>
        <p>${text}</p>
        <label>${label}: <bdi class="strong">${name}</bdi>
          <input autofocus autocomplete="off" value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label>
        <${Problem} text=${problem} />
        <div class="actions"><button type="button" onClick=${onClose}>${t.cancel}</button>
          <button class="danger" disabled=${!isRight}>${action}</button></div>
      </form>
    <//>`;
}
