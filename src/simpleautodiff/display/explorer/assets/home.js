// The page of the server: a formula is asked for, its program is shown.

const form = document.getElementById("ask");
const field = document.getElementById("formula");
const point = document.getElementById("at");
const error = document.getElementById("error");
let asked = 0;

function values(text) {
  const at = {};
  for (const [, name, number] of text.matchAll(/([A-Za-z_]\w*)\s*=\s*(\S+?)(?=[\s,;]|$)/g)) {
    at[name] = Number.isFinite(Number(number)) ? Number(number) : number; // JSON has no others
  }
  return at;
}

async function ask() {
  const mine = ++asked;
  const body = JSON.stringify({ formula: field.value, at: values(point.value) });
  const headers = { "Content-Type": "application/json" };
  let answer;
  try {
    answer = await (await fetch("/api/explain", { method: "POST", headers, body })).json();
  } catch {
    answer = { error: "the server does not answer" };
  }
  if (mine !== asked) return;
  error.hidden = !answer.error && !answer.warnings?.length;
  error.textContent = answer.error ?? answer.warnings?.join("\n") ?? "";
  if (!answer.error) show(answer.program);
}

// A copy of the place of the explorer, without what listened to the one before.
function emptied() {
  const place = document.getElementById("explorer");
  const fresh = place.cloneNode(false);
  place.replaceWith(fresh);
  if (place.dataset.theme) fresh.dataset.theme = place.dataset.theme;
  return fresh;
}

function show(program) {
  const fresh = emptied();
  if (!program) return; // a constant has no graph
  const again = (inputs) => {
    const at = values(point.value);
    for (const [i, value] of Object.entries(inputs)) at[program.nodes[i].name] = value;
    point.value = Object.entries(at).map(([name, value]) => `${name}=${value}`).join(" ");
    ask();
  };
  window.explorer = explorer(fresh, program, program.live ? {} : { ask: again });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !/^\s*def\b/.test(field.value)) {
    event.preventDefault();
    ask();
  }
});
const grow = () => (field.rows = Math.min(12, field.value.split("\n").length));
field.addEventListener("input", grow);
ask();
