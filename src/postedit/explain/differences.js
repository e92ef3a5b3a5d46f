"use strict";
// Word differences of two texts, by kind of edit.

// Words are separated by white space of every kind, as by Python's str.split, which the scores use for tokenised text.
const words = (text) => text.match(/(?:[^\s\x1c-\x1f\x85]|\ufeff)+/g) || [];

const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]/g;
const LENGTH = 8; // characters between spaces, on average, above which these scripts have no spaces between words

// Whether texts are in a script such as Chinese or Thai, without spaces between words; as in `TokenisationSigns`.
function areUnspaced(texts) {
  const found = words(texts.slice(0, 500).join(" "));
  const joined = found.join("");
  return (joined.match(UNSPACED) || []).length > joined.length / 2 && joined.length > LENGTH * found.length;
}

// The words of a text without spaces between them, by the dictionary of the browser, and what stands between words;
// letters with their marks where the browser has no dictionary (Firefox before 125).
function segments(text) {
  if (!Intl.Segmenter) return text.match(/\P{M}\p{M}*|\p{M}+/gu) || [];
  return Array.from(new Intl.Segmenter(undefined, { granularity: "word" }).segment(text), (part) => part.segment);
}

// The fewest word edits from `before` to `after`, as a list of {op: "keep" | "delete" | "insert" | "replace", old, now}.
function align(before, after) {
  const rows = before.length + 1, columns = after.length + 1;
  const cost = new Uint32Array(rows * columns);
  for (let i = 0; i < rows; i++) cost[i * columns] = i;
  for (let j = 0; j < columns; j++) cost[j] = j;
  for (let i = 1; i < rows; i++) {
    for (let j = 1; j < columns; j++) {
      const here = i * columns + j;
      const diagonal = cost[here - columns - 1] + (before[i - 1] === after[j - 1] ? 0 : 1);
      cost[here] = Math.min(diagonal, cost[here - columns] + 1, cost[here - 1] + 1);
    }
  }
  const steps = [];
  let i = rows - 1, j = columns - 1;
  while (i || j) {
    const here = i * columns + j;
    const same = i && j && before[i - 1] === after[j - 1];
    if (i && j && cost[here] === cost[here - columns - 1] + (same ? 0 : 1)) {
      steps.push({ op: same ? "keep" : "replace", old: before[--i], now: after[--j] });
    } else if (i && cost[here] === cost[here - columns] + 1) {
      steps.push({ op: "delete", old: before[--i] });
    } else {
      steps.push({ op: "insert", now: after[--j] });
    }
  }
  return steps.reverse();
}

// Runs of words to show: {tag: "" | "del" | "ins", kind, words}. A word deleted here and inserted there has moved.
function differences(before, after) {
  const steps = align(before, after);
  const gone = new Map();
  for (const step of steps) {
    if (step.op === "delete" || step.op === "replace") gone.set(step.old, (gone.get(step.old) || 0) + 1);
  }
  const moved = new Map();
  for (const step of steps) {
    if ((step.op === "insert" || step.op === "replace") && (gone.get(step.now) || 0) > (moved.get(step.now) || 0)) {
      moved.set(step.now, (moved.get(step.now) || 0) + 1);
    }
  }
  const leaving = new Map(moved), coming = new Map(moved);
  const take = (counts, word) => {
    const left = counts.get(word) || 0;
    if (left) counts.set(word, left - 1);
    return left > 0;
  };
  const plain = { delete: "deletions", insert: "insertions", replace: "substitutions" };
  const runs = [];
  let stretch = [];
  const add = (tag, kind, word) => {
    const last = runs[runs.length - 1];
    if (last && last.tag === tag && last.kind === kind) last.words.push(word);
    else runs.push({ tag, kind, words: [word] });
  };
  const flush = () => {
    for (const step of stretch) {
      if (step.op !== "insert") add("del", take(leaving, step.old) ? "shifts" : plain[step.op], step.old);
    }
    for (const step of stretch) {
      if (step.op !== "delete") add("ins", take(coming, step.now) ? "shifts" : plain[step.op], step.now);
    }
    stretch = [];
  };
  for (const step of steps) {
    if (step.op !== "keep") { stretch.push(step); continue; }
    flush();
    add("", "", step.old);
  }
  flush();
  return runs;
}

const NAMES = {
  " ": "␣", "\n": "⏎", "\t": "⇥", "\u00a0": "NBSP", "\u00ad": "SHY", "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ",
  "\u200e": "LRM", "\u200f": "RLM", "\u202f": "NNBSP", "\u2060": "WJ", "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI",
};

// A text, made visible if it is only white space and marks without width.
const visible = (text) => (/[^\s\p{Cf}]/u.test(text) ? text : Array.from(text, (one) => NAMES[one] ?? one).join(""));

// The changed words within an edit of a text without spaces, where an edit may be a whole sentence.
function changesWithin(before, after) {
  const [old, now] = [before, after].map(segments);
  if (old.length * now.length > MOST_PAIRS) return [element("del", before), element("ins", after)];
  return differences(old, now).map((run) => (run.tag ? element(run.tag, visible(run.words.join(""))) : run.words.join("")));
}

// Texts with more pairs of words than this are not compared: the table would not fit into memory.
const MOST_PAIRS = 2e7;

// An element with the differences between two texts; the text `same` is shown if there are none.
function differenceElement(from, to, same, { dir, unspaced }) {
  const line = element("dd", undefined, { dir, className: "diff" });
  const [before, after] = [from, to].map(unspaced ? segments : words);
  const space = unspaced ? "" : " ";
  if (before.length * after.length > MOST_PAIRS) return element("dd", "Too long to compare.", { className: "none" });
  const runs = differences(before, after);
  if (runs.every((run) => !run.tag)) return element("dd", same, { className: "none" });
  for (const run of runs) {
    const text = run.words.join(space);
    line.append(run.tag ? element(run.tag, visible(text), { className: run.kind }) : text, space);
  }
  return line;
}

if (typeof module !== "undefined") module.exports = { words, segments, areUnspaced, align, differences };
