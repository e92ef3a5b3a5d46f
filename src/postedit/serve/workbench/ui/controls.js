/** Small components and helpers that several views use. */
import { html, signal, useEffect, useRef, useState } from "../lib.js";
import { ApiError } from "../data/api.js";
import { format, t } from "../strings.js";

const RIGHT_TO_LEFT = ["Adlm", "Arab", "Aran", "Hebr", "Mand", "Nkoo", "Rohg", "Samr", "Syrc", "Thaa"]; // scripts; not all browsers have `getTextInfo`
const FRAMES = 600; // of the screen, about ten seconds, to wait for a heading

/** A share as a bar. @param {{value: number, label: string, tone?: string}} props */
export function Bar({ value, label, tone = "" }) {
  const share = Math.max(0, Math.min(1, value));
  return html`
    <svg class=${`bar ${tone}`} viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=${label}>
      <rect class="track" width="100" height="6" /><rect class="fill" width=${100 * share} height="6" />
    </svg>`;
}

/** A confidence as a word and a bar. @param {{value: number | null}} props */
export function Confidence({ value }) {
  if (value === null || value === undefined) return null;
  const [, word] = t.confidence.find(([least]) => value >= least);
  const tone = value >= 0.7 ? "good" : value >= 0.5 ? "middling" : "bad";
  return html`<span class="confidence"><span class=${`word ${tone}`}>${word}</span>
    <${Bar} value=${value} tone=${tone} label=${t.confidenceOf(value)} /></span>`;
}

/**
 * Load something when a view opens. @template Value @param {() => Promise<Value>} load @param {any[]} inputs
 * @returns {{value: Value | undefined, error: ApiError | null, reload: () => Promise<Value | undefined>, set: (value: Value) => void}} `reload` returns what it loaded, or nothing if that failed
 */
export function useLoaded(load, inputs) {
  const [state, setState] = useState({ value: undefined, error: null });
  const latest = useRef(0);
  const reload = async () => {
    const turn = ++latest.current; // an answer is dropped if a later request was made meanwhile
    const show = (next) => { if (turn === latest.current) setState(next); };
    try {
      const value = await load();
      show({ value, error: null });
      return value;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      show((old) => ({ ...old, error }));
      return undefined;
    }
  };
  useEffect(() => { reload(); }, inputs);
  return { ...state, reload, set: (value) => setState({ value, error: null }) };
}

/** Shown while something is being loaded, or if it could not be. @param {{loaded: {value: any, error: any, reload: () => void}}} props */
export function Waiting({ loaded }) {
  if (!loaded.error) return html`<p class="hint" role="status">${t.loading}</p>`;
  return html`<p class="warning" role="alert">${loaded.error.message} <button type="button" onClick=${loaded.reload}>${t.retry}</button></p>`;
}

/**
 * Move the focus to the heading of a new view as soon as there is one, since the element that had it is gone. The
 * editor moves the focus to its field instead.
 */
export function focusHeading(frames = FRAMES) {
  const heading = document.querySelector("#content h1");
  if (document.querySelector(".workplace") || frames <= 0) return;
  if (heading && !document.querySelector(".sign-in, dialog[open]")) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  } else requestAnimationFrame(() => focusHeading(frames - 1));
}

/**
 * Return the attributes of a text in a language. Its first letter does not decide on the direction, since texts in
 * Arabic or Hebrew may begin with a Latin name. @param {string} language
 */
export function inLanguage(language) {
  const tag = language.replace(/[_@]/g, "-"); // gettext writes he_IL and sr@latin
  return { lang: tag, dir: directionOf(tag) };
}

function directionOf(tag) {
  try {
    const { script } = new Intl.Locale(tag).maximize(); // the usual one, if none is named
    return script ? (RIGHT_TO_LEFT.includes(script) ? "rtl" : "ltr") : "auto";
  } catch {
    return "auto"; // this is no code of a language
  }
}

/** The name of the view or file that is shown, with which the title of the page begins. */
export const shownName = signal("");

/** Let the title of the page begin with a name as long as a view is shown. @param {string} name */
export function useTitle(name) {
  useEffect(() => {
    shownName.value = name;
    return () => { shownName.value = ""; };
  }, [name]);
}

/** A date and time. @param {{value: string | null}} props */
export function Time({ value }) {
  return value ? html`<time datetime=${value}>${format.moment(value)}</time>` : null;
}
