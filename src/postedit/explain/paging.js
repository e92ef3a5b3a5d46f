"use strict";
// What pages with a list of sentences share: helpers for elements, and a list that is shown a page at a time.

const controls = document.getElementById("controls"); // the form that selects what to show, and in which order
const data = JSON.parse(document.getElementById("data").textContent);

function element(tag, text, properties) {
  const made = Object.assign(document.createElement(tag), properties);
  if (text !== undefined) made.textContent = text;
  return made;
}

// A text as it is searched: whether letters are capitals, and how their marks are encoded, does not matter.
const searched = (text) => text.toLowerCase().normalize();

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const READ = 500; // texts in which the direction is sought
const FEW = 0.1; // most letters of the other direction in texts from left to right

// The direction of texts in one language, by their letters. The first letter of a text does not decide, as Arabic or
// Hebrew may begin with a Latin name; it does only if the texts seem to be in languages of both directions.
function directionOf(texts) {
  const letters = texts.slice(0, READ).join("").match(/\p{L}/gu) || [];
  const share = letters.filter((letter) => RIGHT_TO_LEFT.test(letter)).length / letters.length;
  return share >= 0.5 ? "rtl" : share <= FEW ? "ltr" : "auto";
}

// Fills the list of the page. `choose` is called whenever the controls change and returns the items to show; `draw`
// returns an element for one item. Returns a function that redraws the current page of the list.
function paged(size, choose, draw) {
  const list = document.getElementById("list");
  const range = document.getElementById("range");
  let found = [], page = 0, waiting = 0;

  function show() {
    const start = page * size, end = Math.min(start + size, found.length);
    list.replaceChildren(...found.slice(start, end).map(draw));
    const places = found.length ? `${(start + 1).toLocaleString("en")}–${end.toLocaleString("en")} of ` : "";
    range.textContent = `${places}${found.length.toLocaleString("en")} sentences`;
    for (const button of document.querySelectorAll("[data-step]")) {
      const target = page + Number(button.dataset.step);
      button.disabled = target < 0 || target * size >= found.length;
    }
  }

  function renew() {
    found = choose();
    page = 0;
    show();
  }

  function turn(step) {
    page += step;
    show();
    document.getElementById("sentences").scrollIntoView();
  }

  controls.hidden = false;
  controls.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(renew, 120); });
  controls.addEventListener("submit", (event) => event.preventDefault());
  for (const button of document.querySelectorAll("[data-step]")) {
    button.addEventListener("click", () => turn(Number(button.dataset.step)));
  }
  renew();
  return show;
}
