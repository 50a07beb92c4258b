// The playground: a text and a point are sent to Python in a worker, which answers with a program.

const at = (id) => document.getElementById(id);
const field = at("text"), point = at("at"), status = at("status");
const SERVE = "Browsers run this from a web server only:\npython -m http.server --directory FOLDER";
let site, worker = null; // what the site has; Python, once it is started
let asked = null, waiting = null; // the question that Python answers, and the next one
let shown = 0; // how many programs were asked for

// --- Python -----------------------------------------------------------------------------------

function say(text) {
  status.textContent = text;
}

function idle() {
  say(worker ? "Python runs in this page."
    : `Your own formulas and functions run in this page, on Python: ${site.download} are loaded once.`);
}

function startPython() {
  say(`Loading Python: ${site.download}`);
  worker = new Worker("worker.js");
  worker.onmessage = ({ data }) => {
    if (data.loaded) say(loading(data.loaded / site.bytes));
    if (data.ready) say("Computing …");
    if (data.failed) end(`Python cannot be started: ${data.failed}`);
    if (data.answer) finish(data.answer);
  };
  worker.onerror = (event) => end(`Python has stopped: ${event.message || "the memory is full"}`);
}

function loading(share) {
  return share < 1 ? `Loading Python: ${Math.round(100 * share)} % of ${site.download}` : "Starting Python …";
}

// Ask Python. It answers one question at a time; of those that wait, the latest is kept.
function ask(request) {
  if (location.protocol === "file:") return Promise.resolve({ error: SERVE });
  tell({}); // what was wrong with the last text is not wrong with this one
  at("stop").hidden = false;
  return new Promise((resolve) => {
    waiting?.resolve({ stopped: true });
    waiting = { request, resolve };
    if (!asked) send();
  });
}

function send() {
  if (worker) say("Computing …");
  else startPython();
  [asked, waiting] = [waiting, null];
  worker.postMessage(asked.request);
}

function finish(answer) {
  const { resolve } = asked;
  asked = null;
  if (waiting) {
    send();
  } else {
    at("stop").hidden = true;
    idle();
  }
  resolve(answer);
}

// End Python, with what it is doing; the next question starts it again.
function end(why) {
  worker?.terminate();
  worker = null;
  waiting?.resolve({ stopped: true });
  waiting = null;
  if (asked) finish({ error: why });
}

// --- what is shown ----------------------------------------------------------------------------

function tell(answer) {
  at("error").hidden = !answer.error;
  at("error").textContent = answer.error ?? "";
  at("notes").hidden = !answer.notes?.length;
  at("notes").textContent = answer.notes?.join("\n") ?? "";
}

// A copy of the place of the explorer, without what listened to the one before.
function emptied() {
  const place = at("explorer");
  const fresh = place.cloneNode(false);
  if (place.dataset.theme) fresh.dataset.theme = place.dataset.theme;
  place.replaceWith(fresh);
  return fresh;
}

function show(answer) {
  tell(answer);
  const { program } = answer;
  const place = emptied();
  if (!program) return; // what is shown is what is typed
  const moved = (values) => {
    point.value = Object.entries(values).reduce(withValue, point.value);
  };
  const again = (inputs) => {
    moved(Object.fromEntries(Object.entries(inputs).map(([i, value]) => [program.nodes[i].name, value])));
    explore();
  };
  const numbers = program.inputs.every((i) => typeof program.nodes[i].value === "number");
  const asks = (program.live && !program.kernel) || !numbers ? {} : { ask: again };
  window.explorer = explorer(place, program, { address: true, moved, ...asks });
}

// The text of a point, with another value for one of its names.
function withValue(text, [name, value]) {
  const given = new RegExp(`(^|[\\s,;])${name}\\s*=\\s*(?:\\[[^=]*\\]|[^\\s,;]+)`);
  const written = pointText({ [name]: value });
  return given.test(text) ? text.replace(given, `$1${written}`) : `${text} ${written}`;
}

async function explore(byLink = false) {
  const mine = ++shown;
  const request = { text: field.value, at: point.value, by_link: byLink };
  // A new text begins at its first step; the same at another point stays where it is.
  const anew = readAddress().formula === request.text ? {} : { phase: undefined, from: undefined, step: undefined };
  writeAddress({ formula: request.text, at: request.at, ...anew }, true);
  choose(request);
  const example = site.examples.find((one) => one.text === request.text &&
    (one.at === request.at || canMove(one.answer.program, request.at)));
  const answer = example ? example.answer : await ask(request);
  if (mine === shown && !answer.stopped) show(answer);
}

// Whether the page can compute an example at another point by itself.
function canMove(program, where) {
  const given = readPoint(where);
  return program.live && Object.keys(given).length === program.inputs.length &&
    program.inputs.every((i) => typeof given[program.nodes[i].name] === "number");
}

async function download({ wanted, name }) {
  const answer = await ask({ text: field.value, at: point.value, wanted });
  if (answer.stopped) return;
  tell(answer);
  if (!(wanted in answer)) return;
  const address = URL.createObjectURL(new Blob([answer[wanted]]));
  const anchor = Object.assign(document.createElement("a"), { href: address, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// --- the address ------------------------------------------------------------------------------

function put(request, byLink = false) {
  field.value = request.text;
  point.value = request.at;
  grow();
  explore(byLink);
}

// Show what the address says; without a formula in it, the first example.
function open() {
  const { formula, at: where = "" } = readAddress();
  if (formula === undefined) put(site.examples[0]);
  else if (formula !== field.value || where !== point.value) put({ text: formula, at: where }, true);
}

function choose(request) {
  const i = site.examples.findIndex((one) => one.text === request.text);
  at("example").value = i < 0 ? "" : String(i);
}

function grow() {
  field.rows = Math.max(1, Math.min(12, field.value.split("\n").length));
}

async function copy() {
  writeAddress({ formula: field.value, at: point.value }, true);
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied: it opens this program, at this point and this step.");
  } catch {
    say("The address of this page is the link.");
  }
}

async function begin() {
  const answer = await fetch("site.json").catch(() => null);
  if (!answer?.ok) return tell({ error: SERVE });
  site = await answer.json();
  at("example").append(new Option("your own", "", true, true));
  at("example").append(...site.examples.map(({ title }, i) => new Option(title, String(i))));
  idle();
  at("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    explore();
  });
  at("example").addEventListener("change", (event) => {
    if (event.target.value) put(site.examples[event.target.value]);
  });
  at("stop").addEventListener("click", () => end("It was stopped."));
  at("link").addEventListener("click", copy);
  for (const button of document.querySelectorAll("[data-wanted]")) {
    button.addEventListener("click", () => download(button.dataset));
  }
  field.addEventListener("input", grow);
  field.addEventListener("keydown", (event) => {
    const single = !/\n|^\s*(def|import|from|@)/.test(field.value) && !event.shiftKey;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey || single)) {
      event.preventDefault();
      explore();
    }
  });
  window.addEventListener("hashchange", open);
  open();
}

begin();
