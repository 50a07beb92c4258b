"use strict";
// One slide is seen at a time; keys, buttons, swipes and the address choose it.
const slides = [...document.querySelectorAll("section")];
const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = (name) => { document.body.dataset.theme = name; };
const here = () => Math.max(0, slides.findIndex((slide) => slide.classList.contains("here")));

function show(number, last = false) {
  const wanted = Math.min(Math.max(number, 0), slides.length - 1);
  slides.forEach((slide, k) => slide.classList.toggle("here", k === wanted));
  const frames = slides[wanted].querySelectorAll(".frames svg");
  frames.forEach((frame, k) => frame.classList.toggle("now", k === (last ? frames.length - 1 : 0)));
  history.replaceState(null, "", `#${wanted + 1}`);
  scrollTo(0, 0);
}

// One step: to the next figure of a slide that has several, or to the next slide.
function go(step) {
  const frames = [...slides[here()].querySelectorAll(".frames svg")];
  const now = frames.findIndex((frame) => frame.classList.contains("now"));
  const next = frames[now + step];
  if (now < 0 || !next) { show(here() + step, step < 0); return; }
  frames[now].classList.remove("now");
  next.classList.add("now");
}

const steps = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in steps) { event.preventDefault(); go(steps[event.key]); }
  if (event.key === "Home") show(0);
  if (event.key === "End") show(slides.length - 1);
});
document.querySelectorAll("[data-go]").forEach((button) => {
  button.addEventListener("click", () => go(Number(button.dataset.go)));
});
let from = 0;
addEventListener("touchstart", (event) => { from = event.changedTouches[0].clientX; });
addEventListener("touchend", (event) => {
  const moved = event.changedTouches[0].clientX - from;
  if (Math.abs(moved) > 80) go(-Math.sign(moved));
});
document.getElementById("theme").addEventListener("click", () => {
  theme(document.body.dataset.theme === "dark" ? "light" : "dark");
});
const showAddressed = () => show((parseInt(location.hash.slice(1), 10) || 1) - 1);
addEventListener("hashchange", showAddressed);
theme(dark.matches ? "dark" : "light");
showAddressed();
