/**
 * The keys of the editor, in one table, which both the help and the editor use. On a Mac, Option types letters (ś is
 * Option+S on a Polish keyboard), so that Control+Option is used there instead of Alt, except with arrows.
 */

/**
 * @typedef {{id: string, group: string, keys: string[], shown?: string}} Shortcut
 *   `keys`: modifiers and the code of the key; Ctrl is also the command key of a Mac. `shown`: if not the first of `keys`.
 */

/** @type {Shortcut[]} */
export const SHORTCUTS = [
  { id: "confirm", group: "work", keys: ["Ctrl+Enter", "Ctrl+NumpadEnter"] },
  { id: "next", group: "work", keys: ["Alt+ArrowDown"], shown: "Alt+↓" },
  { id: "previous", group: "work", keys: ["Alt+ArrowUp"], shown: "Alt+↑" },
  { id: "nextOpen", group: "work", keys: ["Alt+Shift+ArrowDown"], shown: "Alt+Shift+↓" },
  { id: "previousOpen", group: "work", keys: ["Alt+Shift+ArrowUp"], shown: "Alt+Shift+↑" },
  { id: "reopen", group: "work", keys: ["Alt+KeyU"], shown: "Alt+U" },
  { id: "toggle", group: "edits", keys: Array.from({ length: 9 }, (_, index) => `Alt+Digit${index + 1}`), shown: "Alt+1 … 9" },
  { id: "acceptAll", group: "edits", keys: ["Alt+KeyA"], shown: "Alt+A" },
  { id: "rejectAll", group: "edits", keys: ["Alt+KeyR"], shown: "Alt+R" },
  { id: "undo", group: "text", keys: ["Ctrl+KeyZ"], shown: "Ctrl+Z" },
  { id: "redo", group: "text", keys: ["Ctrl+Shift+KeyZ", "Ctrl+KeyY"], shown: "Ctrl+Shift+Z" },
  { id: "past", group: "text", keys: ["Alt+KeyH"], shown: "Alt+H" },
  { id: "moveTag", group: "text", keys: ["Alt+Shift+ArrowLeft", "Alt+Shift+ArrowRight"], shown: "Alt+Shift+← →" },
  { id: "newLine", group: "text", keys: [], shown: "Shift+Enter" },
  { id: "takeSource", group: "text", keys: ["Alt+KeyS"], shown: "Alt+S" },
  { id: "useMatch", group: "text", keys: ["Alt+KeyM"], shown: "Alt+M" },
  { id: "search", group: "find", keys: ["F3"] },
  { id: "filter", group: "find", keys: ["Shift+F3"] },
  { id: "goTo", group: "find", keys: ["Alt+KeyG"], shown: "Alt+G" },
  { id: "field", group: "find", keys: ["F2"] },
  { id: "help", group: "find", keys: ["F1", "Ctrl+/"], shown: "F1 or Ctrl+/" },
];

/** Shortcuts that act again while their keys are held down. Others act once, so that nothing is confirmed unseen. */
export const REPEATED = new Set(["next", "previous", "nextOpen", "previousOpen", "undo", "redo", "moveTag"]);

const isMac = () => /^(Mac|iP)/.test(navigator.platform);

/** Return the keys of a shortcut, named as on this computer. @param {string} id */
export function keysOf(id) {
  const { keys, shown = keys[0] } = SHORTCUTS.find((one) => one.id === id);
  if (!isMac()) return shown;
  return shown.replace(/Alt\+(?!.*[↑↓←→])/, "Control+Option+").replace("Alt+", "Option+");
}

const byKeys = new Map(SHORTCUTS.flatMap(({ id, keys }) => keys.map((one) => [one, id])));

/** Return whether a form field, such as the search, gets the keys. @param {EventTarget} target */
const hasOwnUndo = (target) => target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

/** Return whether Alt types a letter here, or belongs to the browser. @param {KeyboardEvent} event */
function isTaken(event) {
  if (event.getModifierState("AltGraph")) return true; // AltGr types letters
  const isArrow = event.code.startsWith("Arrow");
  if (event.altKey && isArrow && event.target instanceof HTMLSelectElement) return true; // which opens the list
  return isMac() && event.altKey && !isArrow && !event.ctrlKey;
}

/** Return the shortcut of a key press, and which of its keys it is. @param {KeyboardEvent} event @returns {{id: string, key: string} | null} */
export function shortcutOf(event) {
  if (event.isComposing) return null;
  if (isTaken(event)) return null;
  const isMacAlt = isMac() && event.altKey && event.ctrlKey;
  const isSlash = event.key === "/"; // some keyboards need Shift, and have another character at its position
  const modifiers = [["Ctrl", (event.ctrlKey && !isMacAlt) || event.metaKey], ["Alt", event.altKey], ["Shift", event.shiftKey && !isSlash]];
  const letter = /^[a-z]$/i.test(event.key) ? `Key${event.key.toUpperCase()}` : isSlash ? "/" : event.code; // by letter if it is one
  const key = [...modifiers.filter(([, isDown]) => isDown).map(([name]) => name), letter].join("+");
  const id = byKeys.get(key);
  if ((id === "undo" || id === "redo") && hasOwnUndo(event.target)) return null;
  return id ? { id, key } : null;
}
