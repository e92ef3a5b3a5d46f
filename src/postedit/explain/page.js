"use strict";
// Lights the input words that an output word looked at. Without this script the page still shows everything else.
{
  const STRONGEST = 3; // input words named in the line below the sentence
  const percent = (value) => `${Math.round(value * 100)} %`;
  const chosenKind = () => document.querySelector('input[name="kind"]:checked')?.value;

  /** The attention to show for each stream: of the chosen kind where there is one, else the first. */
  function shown(attention) {
    const byStream = new Map();
    for (const entry of attention) {
      if (!byStream.has(entry.stream) || entry.kind === chosenKind()) byStream.set(entry.stream, entry);
    }
    return [...byStream.values()];
  }

  function setUp(article) {
    const data = JSON.parse(article.querySelector('script[type="application/json"]').textContent);
    const buttons = [...article.querySelectorAll(".output button")];
    const reading = article.querySelector(".reading");
    const inputs = (stream) => [...article.querySelectorAll(`[data-stream="${CSS.escape(stream)}"] .w`)];
    let kept = null; // the button that was clicked, which stays lit

    function light(button) {
      const position = buttons.indexOf(button);
      buttons.forEach((other) => other.classList.toggle("lit", other === button));
      reading.replaceChildren();
      for (const word of article.querySelectorAll("[data-stream] .w")) word.style.setProperty("--weight", 0);
      if (position < 0) return;
      const name = document.createElement("b");
      name.textContent = button.textContent;
      reading.append(name, ` · probability ${percent(data.probabilities[position])}`);
      for (const entry of shown(data.attention)) {
        const weights = entry.weights[position];
        const words = inputs(entry.stream);
        words.forEach((word, index) => word.style.setProperty("--weight", weights[index]));
        const order = weights.map((_, index) => index).sort((a, b) => weights[b] - weights[a]);
        const strongest = order.slice(0, STRONGEST).filter((index) => weights[index] >= 0.01);
        reading.append(` · ${entry.name}: `);
        reading.append(strongest.map((index) => `${words[index].textContent} ${percent(weights[index])}`).join(", "));
      }
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

    for (const [index, button] of buttons.entries()) {
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("pointerenter", () => light(button));
      button.addEventListener("pointerleave", () => light(kept));
      button.addEventListener("focus", () => light(button));
      button.addEventListener("blur", () => light(kept));
      button.addEventListener("click", () => keep(button));
      button.addEventListener("keydown", (event) => {
        const toRight = getComputedStyle(button).direction === "rtl" ? -1 : 1;
        const goal = { ArrowRight: index + toRight, ArrowLeft: index - toRight, Home: 0, End: buttons.length - 1 }[event.key];
        if (goal === undefined) return;
        event.preventDefault();
        moveTo(goal);
      });
    }
    for (const radio of document.querySelectorAll('input[name="kind"]')) {
      radio.addEventListener("change", () => light(kept));
    }
  }

  document.querySelectorAll("article").forEach(setUp);
}
