"use strict";
// Shows sentences a page at a time, and highlights the input words that the model looked at for an output word.
{
  const PAGE = 20, STRONGEST = 3, CELL = 17, LETTER = 7, LONGEST = 20;
  const SVG = "http://www.w3.org/2000/svg";
  const drawn = (tag, attributes, text) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const wordsOf = (text) => text.parts.filter((_, index) => index % 2);
  const written = (sentence) => sentence.changes.map(([tag, text]) => (tag === "del" ? "" : text)).join("");
  const direction = { src: directionOf(data.map((one) => one.src)), mt: directionOf(data.map(written)) };
  const script = { dir: direction.mt, unspaced: areUnspaced(data.map(written)) };
  const dense = (row, size) => {
    const weights = new Array(size).fill(0);
    for (let i = 0; i < row.length; i += 2) weights[row[i]] = row[i + 1];
    return weights;
  };

  // Appends the words of a text to `line` as elements, with the unchanged text between them; returns the elements.
  function wordElements(line, text, make) {
    const made = [];
    for (let i = 0; i < text.parts.length; i += 2) {
      const index = i / 2;
      const word = make(text.parts[i + 1], index);
      if (text.ends.includes(index)) word.classList.add("end");
      made.push(word);
      line.append(text.parts[i], word);
    }
    return made;
  }

  // For each stream, the attention of the chosen kind if there is one, otherwise the first.
  function shown(sentence) {
    const byStream = new Map();
    for (const entry of sentence.attention) {
      if (!byStream.has(entry.stream) || entry.kind === controls.kind.value) byStream.set(entry.stream, entry);
    }
    return [...byStream.values()];
  }

  function sharesOf(sentence, position) {
    const entries = Object.entries(sentence.shares).map(([name, values]) => [name, values[position]]);
    if (!entries.length) return [];
    const bar = element("span", undefined, { className: "shares" });
    bar.setAttribute("aria-hidden", "true");
    for (const [name, value] of entries) {
      if (name === "generated") continue;
      const part = element("span", undefined, { className: name });
      part.style.width = `${value}%`;
      bar.append(part);
    }
    const texts = entries.map(([name, value]) => `${name === "generated" ? name : `copied from ${name}`} ${value} %`);
    return [" · ", bar, ` ${texts.join(", ")}`];
  }

  // Whether the output is nearer to the post-edit than mt, if there is a post-edit.
  function verdict(sentence) {
    if (!sentence.reasons.length) return "kept";
    if (!sentence.left) return "changed";
    const [before, after] = sentence.left;
    return after < before ? "better" : after > before ? "worse" : "same";
  }

  function counts(sentence) {
    const edits = (n) => (n === 1 ? "1 edit" : `${n} edits`);
    const made = sentence.reasons.length;
    const parts = made ? [edits(made)] : [];
    if (sentence.left) {
      const [before, after] = sentence.left;
      parts.push(`${edits(after)} from the post-edit${made ? `, ${before} before` : ""}`);
    }
    return parts.join(" · ");
  }

  function sentenceElement(sentence) {
    const article = element("article");
    const heading = element("h3", `${sentence.line.toLocaleString("en")} `);
    const changed = sentence.reasons.length > 0;
    const is = verdict(sentence), names = { kept: "unchanged", same: "as far" };
    if (is !== "changed") heading.append(element("span", names[is] || is, { className: `verdict ${is}` }), " ");
    heading.append(element("small", counts(sentence)));
    const texts = element("dl", undefined, { className: "texts" });
    const inputs = new Map();
    for (const input of sentence.inputs) {
      const line = element("dd", undefined, { dir: direction[input.stream] });
      line.dataset.stream = input.stream;
      inputs.set(input.stream, wordElements(line, input, (word) => element("span", word, { className: "w" })));
      texts.append(element("dt", input.name), line);
    }
    for (const [name, stream] of sentence.plain) {
      texts.append(element("dt", name), element("dd", sentence[stream], { dir: direction[stream] }));
    }
    const output = element("dd");
    const toolbar = element("div", undefined, { dir: direction.mt, className: "output" });
    toolbar.setAttribute("role", "toolbar");
    toolbar.setAttribute("aria-label", `Output of sentence ${sentence.line}, word by word`);
    const reading = element("p", undefined, { className: "reading" });
    reading.setAttribute("aria-live", "polite");
    const buttons = wordElements(toolbar, sentence.output, (word, index) => {
      const button = element("span", word, { className: sentence.probabilities[index] < 50 ? "w unsure" : "w" });
      button.setAttribute("role", "button");
      button.setAttribute("aria-pressed", "false");
      button.tabIndex = index === 0 ? 0 : -1;
      return button;
    });
    output.append(toolbar);
    if (sentence.probabilities.length) output.append(reading);
    texts.append(element("dt", "Output"), output);
    if (changed) {
      const line = element("dd", undefined, { dir: direction.mt, className: "diff" });
      sentence.changes.forEach(([tag, text], place) => {
        const [next, after] = sentence.changes[place + 1] || [];
        const isSecond = tag === "ins" && place > 0 && sentence.changes[place - 1][0] === "del";
        if (script.unspaced && tag === "del" && next === "ins") line.append(...changesWithin(text, after));
        else if (!script.unspaced || !isSecond) line.append(tag ? element(tag, visible(text)) : text);
      });
      texts.append(element("dt", "What was changed"), line, element("dt", "Why"), reasonsElement(sentence));
    }
    if (sentence.pe !== null) {
      texts.append(element("dt", "Post-edit"), element("dd", sentence.pe, { dir: direction.mt }));
      const left = differenceElement(written(sentence), sentence.pe, "Nothing: the same words.", script);
      texts.append(element("dt", "Left to do"), left);
    }
    article.append(heading, texts);
    for (const entry of sentence.attention) article.append(mapElement(sentence, entry));
    listen(sentence, buttons, reading, inputs);
    return article;
  }

  function reasonsElement(sentence) {
    const line = element("dd");
    const items = element("ul", undefined, { className: "reasons" });
    for (const reason of sentence.reasons) {
      const item = element("li");
      const show = (tag, text) => { const part = element(tag); part.append(element("bdi", visible(text))); item.append(part); };
      if (script.unspaced && reason.old && reason.new) {
        const part = element("bdi");
        part.append(...changesWithin(reason.old, reason.new));
        item.append(part);
      } else {
        if (reason.old) show("del", reason.old);
        if (reason.old && reason.new) item.append(" → ");
        if (reason.new) show("ins", reason.new);
      }
      if (reason.confidence !== null) item.append(` · confidence ${reason.confidence} %`);
      for (const [stream, name, text] of reason.cited) {
        const key = element("span", undefined, { className: `key ${stream}` });
        key.append(element("bdi", text));
        item.append(` · ${name}: `, key);
      }
      if (reason.style) item.append(` · style learnt from ${reason.style.toLocaleString("en")} corrections`);
      const why = element("ul", undefined, { className: "why" });
      for (const text of reason.why) why.append(element("li", text, { dir: "auto" }));
      if (reason.why.length) item.append(why);
      items.append(item);
    }
    line.append(items);
    return line;
  }

  // A heat map, which is drawn only when it is opened.
  function mapElement(sentence, entry) {
    const details = element("details", undefined, { className: entry.stream });
    details.append(element("summary", entry.name.charAt(0).toUpperCase() + entry.name.slice(1)));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(heatMap(sentence, entry));
    });
    return details;
  }

  function heatMap(sentence, entry) {
    const rows = wordsOf(sentence.output);
    const columns = wordsOf(sentence.inputs.find((input) => input.stream === entry.stream));
    const short = (word) => { const all = [...word]; return all.length > LONGEST ? `${all.slice(0, LONGEST - 1).join("")}…` : word; };
    const wide = (letter) => (letter >= "\u2e80" ? 2 : 1); // emoji, Chinese, Japanese and Korean letters
    const space = (labels) => Math.max(...labels.map((word) => [...short(word)].reduce((sum, one) => sum + wide(one), 0))) * LETTER + 12;
    const left = space(rows), top = space(columns) * 0.8 + 8;
    const width = left + CELL * columns.length + space(columns) * 0.6 + 12, height = top + CELL * rows.length + 2;
    const map = drawn("svg", { class: "heat", role: "img", "aria-label": entry.name, width, height });
    map.append(drawn("path", { class: "grid", d: `M${left} ${top}h${CELL * columns.length}v${CELL * rows.length}h${-CELL * columns.length}z` }));
    columns.forEach((word, index) => map.append(
      drawn("text", { transform: `translate(${left + CELL * (index + 0.5)} ${top - 5})rotate(-53)` }, short(word))));
    rows.forEach((word, index) => {
      map.append(drawn("text", { class: "row", x: left - 6, y: top + CELL * (index + 0.5) }, short(word)));
      dense(entry.rows[index], columns.length).forEach((weight, column) => {
        if (!weight) return;
        const cell = drawn("rect", { x: left + CELL * column, y: top + CELL * index, "fill-opacity": weight / 100 });
        cell.append(drawn("title", {}, `${word} → ${columns[column]}: ${weight} %`));
        map.append(cell);
      });
    });
    const box = element("div", undefined, { className: "scroll", tabIndex: 0 });
    box.append(map);
    return box;
  }

  function listen(sentence, buttons, reading, inputs) {
    let kept = null; // the word that was clicked, which stays lit

    function light(button) {
      const position = buttons.indexOf(button);
      buttons.forEach((other) => other.classList.toggle("lit", other === button));
      reading.replaceChildren();
      for (const made of inputs.values()) for (const word of made) word.style.setProperty("--weight", 0);
      if (position < 0) return;
      const name = element("b");
      name.append(element("bdi", button.textContent));
      reading.append(name, ` · probability ${sentence.probabilities[position]} %`, ...sharesOf(sentence, position));
      const strongest = (label, pairs) => {
        if (!pairs.length) return;
        reading.append(` · ${label}: `);
        pairs.forEach(([text, percent], index) => reading.append(index ? ", " : "", element("bdi", text), ` ${percent} %`));
      };
      for (const entry of shown(sentence)) {
        const made = inputs.get(entry.stream);
        const weights = dense(entry.rows[position], made.length);
        made.forEach((word, index) => word.style.setProperty("--weight", weights[index] / 100));
        const order = weights.map((_, index) => index).filter((index) => weights[index]);
        order.sort((a, b) => weights[b] - weights[a]);
        strongest(entry.name, order.slice(0, STRONGEST).map((index) => [made[index].textContent, weights[index]]));
      }
      strongest("runners-up", (sentence.runners[position] || []));
    }

    function keep(button) {
      kept = kept === button ? null : button;
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === kept));
      light(button);
    }

    function moveTo(index) {
      const target = buttons[Math.max(0, Math.min(index, buttons.length - 1))];
      for (const other of buttons) other.tabIndex = other === target ? 0 : -1;
      target.focus();
    }

    buttons.forEach((button, index) => {
      button.addEventListener("pointerenter", () => light(button));
      button.addEventListener("pointerleave", () => light(kept));
      button.addEventListener("focus", () => light(button));
      button.addEventListener("blur", () => light(kept));
      button.addEventListener("click", () => keep(button));
      button.addEventListener("keydown", (event) => {
        const toRight = getComputedStyle(button).direction === "rtl" ? -1 : 1;
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); keep(button); return; }
        const goal = { ArrowRight: index + toRight, ArrowLeft: index - toRight, Home: 0, End: buttons.length - 1 }[event.key];
        if (goal === undefined) return;
        event.preventDefault();
        moveTo(goal);
      });
    });
  }

  const textOf = ({ src, mt, output, pe }) => searched([src, mt, output.parts.join(""), pe || ""].join("\n"));

  function choose() {
    const text = searched(controls.text.value), choice = controls.verdict.value;
    const found = data.filter((one) => (choice === "all" || verdict(one) === choice
      || (choice === "changed" && one.reasons.length > 0)) && (!text || textOf(one).includes(text)));
    const least = (values) => values.reduce((a, b) => Math.min(a, b), 101);
    const key = {
      edits: (one) => -one.reasons.length,
      sure: (one) => least(one.reasons.map((reason) => reason.confidence ?? 100)),
      unsure: (one) => least(one.probabilities),
    }[controls.sort.value];
    return key ? found.sort((a, b) => key(a) - key(b) || a.line - b.line) : found;
  }

  const names = { soft: "soft", copy: "copying", hard: "position" };
  for (const kind of new Set(data.flatMap((one) => one.attention.map((entry) => entry.kind)))) {
    controls.kind.append(element("option", names[kind] || kind, { value: kind }));
  }
  controls.kind.parentElement.hidden = controls.kind.options.length < 2;
  if (!data.some((one) => one.left)) {
    for (const option of controls.verdict.querySelectorAll("[data-needs=pe]")) option.remove();
  }
  if (!data.some((one) => one.probabilities.length)) { // nothing is known of words
    document.querySelector(".guide").remove();
    controls.sort.querySelector("[value=unsure]").remove();
  }
  const show = paged(PAGE, choose, sentenceElement);
  controls.kind.addEventListener("input", (event) => { event.stopPropagation(); show(); }); // the same sentences
}
