// "Predict the next number": the coming number is asked for, and a wrong answer is diagnosed.

const near = (a, b) => Object.is(a, b) || (Number.isFinite(a - b) && Math.abs(a - b) <= 1e-12 + 2e-3 * Math.max(Math.abs(a), Math.abs(b)));

// An answer as JavaScript writes numbers: with a point, a hyphen, Infinity and NaN.
const spell = (text) => text.trim().replace(",", ".").replaceAll("−", "-").replace(/inf(inity)?|∞/i, "Infinity").replace(/^nan$/i, "NaN");

// Whether an answer is a number, to the digits that it is given in.
function matches(text, truth) {
  const answer = Number(text);
  if (near(answer, truth)) return true;
  const decimals = /\.(\d*)$/.exec(text)?.[1].length ?? 0;
  return /^[-+]?\d*\.?\d*$/.test(text) && decimals > 0 && Math.abs(answer - truth) <= 0.51 * 10 ** -decimals;
}

// The numbers that a step is made of: for each argument what comes to it, times its local derivative.
function ingredients(doc, model, event, sweep) {
  const { partials, values, sweeps } = model;
  if (event.kind === "accumulate") {
    const d = partials[event.child][event.k];
    return { truth: event.number, before: event.first ? null : event.before, terms: [[event.from, d]],
      others: Object.entries(partials[event.child]).filter(([k]) => Number(k) !== event.k).map(([, other]) => other) };
  }
  const args = (doc.nodes[event.node].args ?? []).map((arg) => (Array.isArray(arg) ? decode(arg[0]) : values[arg]));
  if (event.kind === "value") return { truth: values[event.node], args };
  if (event.kind === "seed") return { truth: 1, seed: true };
  const found = sweeps[sweep].numbers;
  const terms = doc.nodes[event.node].args.flatMap((arg, k) => {
    const d = Array.isArray(arg) ? null : partials[event.node][k];
    return typeof d === "number" && typeof found[arg] === "number" ? [[found[arg], d]] : [];
  });
  return { truth: event.number, before: null, terms, others: [] };
}

// What is likely to have gone wrong, in one sentence; most telling first.
function diagnose(answer, { truth, before, terms, others, args, seed }) {
  const is = (other) => typeof other === "number" && near(answer, other) && !near(other, truth);
  if (seed) return "A sweep begins with 1: the derivative of a variable with respect to itself.";
  if (is(-truth)) return "The sign is wrong.";
  if (args) return diagnoseValue(is, args);
  const products = terms.map(([comes, d]) => comes * d);
  const [comes, d] = terms[0] ?? [1, 1];
  if (before !== null && is(products[0])) return `A term is missing: this is what arrives now; add it to the ${numeral(before)} that is there already.`;
  if (before !== null && is(before)) return "Nothing was added: this is the number from before.";
  if (terms.length > 1 && products.some(is)) return "A term is missing: every argument contributes one, and they are added.";
  if (terms.length > 1 && is(products.reduce((a, b) => a - b))) return "The terms are added; their signs come from the local derivatives alone.";
  const total = (term) => (before ?? 0) + term;
  if (terms.length === 1) {
    if (is(total(comes)) || is(comes)) return `A factor is missing: multiply by the local derivative, ${numeral(d)}.`;
    if (is(total(d)) || is(d)) return `A factor is missing: this is the local derivative; multiply by what comes to it, ${numeral(comes)}.`;
    if (d !== 0 && is(total(comes / d))) return "The factor is wrong: it was divided by the local derivative; multiply.";
    if (others.some((other) => is(total(comes * other)))) return "The factor is wrong: this is the local derivative with respect to the other argument.";
    if (is(total(comes + d))) return "The factors are multiplied, not added.";
    if (is(total(-comes * d))) return "The sign of the term is wrong.";
  }
  if (terms.length > 1 && is(terms.reduce((sum, [one]) => sum + one, 0))) return "The factors are missing: multiply each by its local derivative.";
  return "Not this: look at the formula of the row again.";
}

function diagnoseValue(is, args) {
  const [x, y] = args;
  if (args.length === 2) {
    const ways = { sum: x + y, difference: x - y, product: x * y, quotient: x / y };
    const way = Object.keys(ways).find((one) => is(ways[one]));
    if (way) return `This is the ${way} of the two numbers.`;
    if (is(y - x) || is(y / x)) return "The two numbers are exchanged.";
  }
  if (args.length === 1) {
    const degrees = (x * Math.PI) / 180;
    if ([Math.sin, Math.cos, Math.tan].some((f) => is(f(degrees)))) return "The angle is in radians, not in degrees.";
    if (is(Math.log10(x))) return "The logarithm is the natural one.";
  }
  return args.some(is) ? "This is the argument: the operation is still to be done." : "Not this: look at the formula of the row again.";
}

// The panel: `coming()` is the next step, its phase and its row; `on` takes it; `reached` is told to.
function predictor(part, doc, now, write, on) {
  let active = false, asked = 0, right = 0, tried = false, shown = "";
  const field = make("input", { type: "text", inputmode: "decimal", "aria-label": "Your prediction", autocomplete: "off", spellcheck: "false" });
  const check = make("button", { type: "submit", class: "chip" }, "Check");
  const reveal = make("button", { type: "button", class: "chip" }, "Show it");
  const verdict = make("p", { class: "verdict", role: "status" });
  const score = make("span", { class: "score" });
  const note = make("p", { class: "note" }); // why nothing is asked
  const question = make("label", { class: "question" });
  const form = make("form", { class: "ask" }, question, field, check, reveal);
  part.predict.append(form, note, verdict, score);

  const coming = () => {
    const { steps, here } = now();
    return steps[here.phase].events[here.count];
  };
  // A number that can be asked for: of one step, and no input.
  function askable(event) {
    if (!event || event.events || ["visit", "place"].includes(event.kind)) return false;
    if (event.kind === "value") return doc.nodes[event.node].op !== undefined && typeof now().model.values[event.node] === "number";
    return typeof event.number === "number";
  }

  function whyNothing(event) {
    if (!event) return "This phase is at its end: go back, or choose another one.";
    if (event.events) return "The next step is a folded box: unfold it, or go on with →.";
    if (["visit", "place"].includes(event.kind)) return "Here no number is computed: choose Evaluation, Forward or Reverse.";
    if (!doc.nodes[event.node].op) return "The next number is an input, which is given: go on with →.";
    return "The next step is no single number: go on with →.";
  }

  function render() {
    part.predict.hidden = !active;
    part.predicting.setAttribute("aria-pressed", active);
    const event = coming();
    const { steps, here } = now();
    const place = active && askable(event) ? `${here.phase} ${here.count}` : "";
    const fresh = place !== shown;
    shown = place;
    if (!active) return;
    form.hidden = !askable(event);
    note.textContent = form.hidden ? whyNothing(event) : "";
    score.textContent = asked ? `${right} of ${asked} right` : "";
    if (form.hidden) return;
    const { name, symbols } = write.row(event, steps[here.phase]);
    question.replaceChildren(...name, " = ", symbols, " = ");
    field.value = "";
    tried = false;
    if (fresh) field.focus({ preventScroll: true });
  }

  // Take the steps of an evaluation that ask for nothing.
  function skip() {
    const start = now().here.phase;
    while (now().here.phase === start && coming() && !askable(coming()) && coming().kind === "value") on();
  }

  function pass() {
    on();
    skip();
  }

  function answer(event) {
    event.preventDefault();
    const text = spell(field.value);
    if (!text || Number.isNaN(Number(text)) && text !== "NaN") return say("A number is wanted.", "wrong");
    const { model, steps, here } = now();
    const parts = ingredients(doc, model, coming(), steps[here.phase].sweep);
    const hit = matches(text, parts.truth);
    if (!tried) asked++;
    if (hit && !tried) right++;
    tried = true;
    score.textContent = `${right} of ${asked} right`;
    if (!hit) return say(diagnose(Number(text), parts), "wrong"), field.select();
    pass();
    say("Right.", "right");
  }

  function say(text, kind) {
    verdict.textContent = text;
    verdict.dataset.kind = kind;
  }

  form.addEventListener("submit", answer);
  reveal.addEventListener("click", () => {
    const { truth } = ingredients(doc, now().model, coming(), now().steps[now().here.phase].sweep);
    if (!tried) asked++;
    pass();
    say(`It was ${numeral(truth)}.`, "");
  });
  function toggle() {
    active = !active;
    [asked, right] = [0, 0];
    say("", "");
    if (active) skip();
    render();
  }
  part.predicting.addEventListener("click", toggle);
  // Whether a step has to wait for an answer.
  const waits = () => active && askable(coming()) && (field.focus({ preventScroll: true }), true);
  return { render, toggle, waits, active: () => active };
}
