"use strict";
// Shows the sentences of the chosen system, which can be sorted and filtered.
{
  const PAGE = 25;
  const count = data.pe.length;
  const direction = { src: directionOf(data.src || []), target: directionOf(data.pe) };
  const script = { dir: direction.target, unspaced: areUnspaced(data.pe) };
  const outputs = (system) => system.outputs || data.mt;
  const before = data.mt ? data.systems[0] : null;
  const options = (name, values) => values.forEach((text, value) => controls[name].append(element("option", text, { value })));

  function verdict(system, row) {
    if (!before) return "all";
    if (outputs(system)[row] === data.mt[row]) return "kept";
    const gain = before.edits[row] - system.edits[row];
    return gain > 0 ? "better" : gain < 0 ? "worse" : "same";
  }

  function wanted(system) {
    const { verdict: choice, kind, group } = controls;
    const text = searched(controls.text.value);
    const texts = [data.src, data.mt, data.pe, system.outputs].filter(Boolean);
    return (row) => {
      if (group.value !== "" && data.groups[row] !== Number(group.value)) return false;
      if (kind.value !== "" && !(system.needs[row] & (1 << Number(kind.value)))) return false;
      if (choice.value !== "all") {
        const is = verdict(system, row);
        if (choice.value === "changed" ? is === "kept" : choice.value === "kept-wrong"
          ? is !== "kept" || !system.edits[row] : is !== choice.value) return false;
      }
      return !text || texts.some((lines) => searched(lines[row]).includes(text));
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
    const needed = `${edits(system.edits[row])} from the post-edit`;
    heading.append(element("small", before && is !== "kept" ? `${needed}, ${before.edits[row]} before` : needed));
    if (data.labels.length) heading.append(element("small", ` · ${data.labels[data.groups[row]]}`));
    const texts = element("dl", undefined, { className: "texts" });
    const line = (name, text, dir = direction.target) => texts.append(element("dt", name), element("dd", text, { dir }));
    if (data.src) line("Source", data.src[row], direction.src);
    if (data.mt) line("Machine translation", data.mt[row]);
    if (system !== before) line("Output", output);
    line("Post-edit", data.pe[row]);
    if (before && system !== before) {
      const changed = differenceElement(data.mt[row], output, "Nothing.", script);
      texts.append(element("dt", "What was changed"), changed);
    }
    const left = differenceElement(output, data.pe[row], "Nothing: the same words.", script);
    texts.append(element("dt", "Left to do"), left);
    article.append(heading, texts);
    return article;
  }

  function choose() {
    const system = data.systems[controls.system.value];
    const keep = wanted(system), compare = order(system);
    const found = [];
    for (let row = 0; row < count; row++) if (keep(row)) found.push(row);
    return compare ? found.sort(compare) : found;
  }

  options("system", data.systems.map((system) => system.name));
  options("kind", data.kinds);
  options("group", data.labels);
  controls.group.parentElement.hidden = !data.labels.length;
  controls.verdict.parentElement.hidden = !before;
  controls.system.value = String(data.systems.length > 1 && before ? 1 : 0);
  paged(PAGE, choose, (row) => sentence(data.systems[controls.system.value], row));
}
