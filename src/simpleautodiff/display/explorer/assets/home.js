// The page of the server: a formula is asked for, its program is shown.

const form = document.getElementById("ask");
const field = document.getElementById("formula");
const point = document.getElementById("at");
const error = document.getElementById("error");
let asked = 0, shown = null; // the formula that is shown

async function ask() {
  const mine = ++asked;
  const body = JSON.stringify({ formula: field.value, at: readPoint(point.value) });
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
  if (answer.error) return;
  // A new formula begins at its first step; the same at another point stays where it is.
  const { formula = field.value } = readAddress();
  const anew = formula === field.value ? {} : { phase: undefined, from: undefined, step: undefined };
  writeAddress({ formula: field.value, at: pointText(readPoint(point.value)), ...anew }, true);
  show(answer.program);
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
  if (program && shown === field.value && window.explorer.update(program)) return; // at another point
  const fresh = emptied();
  shown = program && field.value;
  if (!program) return; // a constant has no graph
  const write = (at) => {
    point.value = Object.entries(at).map(([name, value]) => `${name}=${value}`).join(" ");
  };
  const again = (inputs) => {
    const at = readPoint(point.value);
    for (const [i, value] of Object.entries(inputs)) at[program.nodes[i].name] = value;
    write(at);
    ask();
  };
  window.explorer = explorer(fresh, program, { address: true, moved: write, ...(program.live && !program.kernel ? {} : { ask: again }) });
}

// The formula and the point of the address, if it has them.
function readForm() {
  const { formula, at } = readAddress();
  if (formula === undefined) return;
  field.value = formula;
  point.value = (at ?? "").replaceAll(",", " ");
  grow();
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
window.addEventListener("hashchange", () => {
  const { formula } = readAddress();
  if (formula === undefined || formula === field.value) return;
  readForm();
  ask();
});
readForm();
ask();
