"use strict";

// Words are what stands between spaces of every kind, as the scores divide tokenised text: as Python's str.split does.
const words = (text) => text.match(/(?:[^\s\x1c-\x1f\x85]|\ufeff)+/g) || [];

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

// Runs of words to show: {tag: "" | "del" | "ins", kind, words}. A word that goes here and comes there has moved.
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

if (typeof document === "undefined") {
  module.exports = { words, align, differences };
} else {
  const PAGE = 25;
  const data = JSON.parse(document.getElementById("data").textContent);
  const controls = document.getElementById("controls");
  const list = document.getElementById("list");
  const range = document.getElementById("range");
  const count = data.pe.length;
  const outputs = (system) => system.outputs || data.mt;
  const before = data.mt ? data.systems[0] : null;
  let found = [], page = 0;

  const element = (tag, text, properties) => {
    const made = Object.assign(document.createElement(tag), properties);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const options = (name, values) => values.forEach((text, value) => controls[name].append(element("option", text, { value })));

  function verdict(system, row) {
    if (!before) return "all";
    if (outputs(system)[row] === data.mt[row]) return "kept";
    const gain = before.edits[row] - system.edits[row];
    return gain > 0 ? "better" : gain < 0 ? "worse" : "same";
  }

  function wanted(system) {
    const { verdict: choice, kind, group } = controls;
    const text = controls.text.value.toLowerCase();
    const texts = [data.src, data.mt, data.pe, system.outputs].filter(Boolean);
    return (row) => {
      if (group.value !== "" && data.groups[row] !== Number(group.value)) return false;
      if (kind.value !== "" && !(system.needs[row] & (1 << Number(kind.value)))) return false;
      if (choice.value !== "all") {
        const is = verdict(system, row);
        if (choice.value === "changed" ? is === "kept" : choice.value === "kept-wrong"
          ? is !== "kept" || !system.edits[row] : is !== choice.value) return false;
      }
      return !text || texts.some((lines) => lines[row].toLowerCase().includes(text));
    };
  }

  function order(system) {
    const rate = (one, row) => one.edits[row] / Math.max(1, data.length[row]);
    const gain = (row) => (before ? before.edits[row] - system.edits[row] : -system.edits[row]);
    const keys = {
      gain: (row) => -gain(row), loss: gain, worst: (row) => -rate(system, row), best: (row) => rate(system, row),
      before: (row) => -rate(before || system, row), long: (row) => -data.length[row], short: (row) => data.length[row],
    };
    const key = keys[controls.sort.value];
    if (!key) return null;
    const values = Float64Array.from({ length: count }, (_, row) => key(row));
    return (a, b) => values[a] - values[b] || a - b;
  }

  function difference(from, to, same) {
    const line = element("dd", undefined, { dir: "auto", className: "diff" });
    const runs = differences(words(from), words(to));
    if (runs.every((run) => !run.tag)) return element("dd", same, { className: "none" });
    for (const run of runs) {
      const text = run.words.join(" ");
      line.append(run.tag ? element(run.tag, text, { className: run.kind }) : text, " ");
    }
    return line;
  }

  function sentence(system, row) {
    const article = element("article");
    const output = outputs(system)[row];
    const heading = element("h3", `${(row + 1).toLocaleString("en")} `);
    const is = verdict(system, row);
    if (is !== "all") {
      const names = { kept: "unchanged", same: "as far" };
      heading.append(element("span", names[is] || is, { className: `verdict ${is}` }));
    }
    const edits = (n) => (n === 1 ? "1 edit" : `${n} edits`);
    const left = `${edits(system.edits[row])} from the post-edit`;
    heading.append(element("small", before && is !== "kept" ? `${left}, ${before.edits[row]} before` : left));
    if (data.labels.length) heading.append(element("small", ` · ${data.labels[data.groups[row]]}`));
    const texts = element("dl", undefined, { className: "texts" });
    const line = (name, text) => texts.append(element("dt", name), element("dd", text, { dir: "auto" }));
    if (data.src) line("Source", data.src[row]);
    if (data.mt) line("Machine translation", data.mt[row]);
    if (system !== before) line("Output", output);
    line("Post-edit", data.pe[row]);
    if (before && system !== before) {
      texts.append(element("dt", "What was changed"), difference(data.mt[row], output, "Nothing."));
    }
    texts.append(element("dt", "Left to do"), difference(output, data.pe[row], "Nothing: the same words."));
    article.append(heading, texts);
    return article;
  }

  function show() {
    const system = data.systems[controls.system.value];
    const start = page * PAGE, end = Math.min(start + PAGE, found.length);
    list.replaceChildren(...found.slice(start, end).map((row) => sentence(system, row)));
    const places = found.length ? `${(start + 1).toLocaleString("en")}–${end.toLocaleString("en")} of ` : "";
    range.textContent = `${places}${found.length.toLocaleString("en")} sentences`;
    for (const button of document.querySelectorAll("[data-step]")) {
      const target = page + Number(button.dataset.step);
      button.disabled = target < 0 || target * PAGE >= found.length;
    }
  }

  function choose() {
    const system = data.systems[controls.system.value];
    const keep = wanted(system), compare = order(system);
    found = [];
    for (let row = 0; row < count; row++) if (keep(row)) found.push(row);
    if (compare) found.sort(compare);
    page = 0;
    show();
  }

  options("system", data.systems.map((system) => system.name));
  options("kind", data.kinds);
  options("group", data.labels);
  controls.group.parentElement.hidden = !data.labels.length;
  controls.verdict.parentElement.hidden = !before;
  controls.system.value = String(data.systems.length > 1 && before ? 1 : 0);
  controls.hidden = false;
  let waiting = 0;
  controls.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(choose, 120); });
  controls.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("click", (event) => {
    const step = event.target.dataset && event.target.dataset.step;
    if (!step) return;
    page += Number(step);
    show();
    document.getElementById("sentences").scrollIntoView();
  });
  choose();
}
