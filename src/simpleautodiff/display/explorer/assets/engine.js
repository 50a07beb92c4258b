// A program in the page: its values, its local derivatives, its sweeps, and the steps they take.

// Numbers travel as JSON, which has no inf and nan: those are texts; arrays are {text, shape}.
function decode(number) {
  return typeof number === "string" ? Number(number.replace("inf", "Infinity")) : number;
}

// What the page shows before any slider is moved: the program's own numbers.
function recorded(doc) {
  return {
    values: doc.nodes.map((node) => decode(node.value)),
    partials: doc.nodes.map((node) =>
      Object.fromEntries(Object.entries(node.partials ?? {}).map(([k, d]) => [k, decode(d)])),
    ),
    sweeps: doc.sweeps.map((sweep) => {
      const numbers = new Array(doc.nodes.length);
      for (const [i, number] of Object.entries(sweep.numbers ?? {})) numbers[i] = decode(number);
      const terms = (sweep.terms ?? []).map((term) => [...term.slice(0, 4), decode(term[4])]);
      return { numbers, terms };
    }),
  };
}

// An object that makes one of its parts when it is first asked for it.
function lazy(base, name, make_) {
  let made;
  return Object.defineProperty({ ...base }, name, { enumerable: true, get: () => (made ??= make_()) });
}

// The same for other inputs, by the rows; a sweep is made when it is looked at.
function computed(doc, inputs) {
  const values = [], partials = [];
  doc.nodes.forEach((node, i) => {
    partials[i] = {};
    if (!node.op) {
      values[i] = inputs[i] ?? decode(node.value);
      return;
    }
    const args = node.args.map((arg) => (Array.isArray(arg) ? decode(arg[0]) : values[arg]));
    values[i] = FUNCTIONS[node.op](...args);
    for (let k = 0; k < args.length; k++) {
      if (!Array.isArray(node.args[k])) partials[i][k] = slopeOf(doc, node, k, NUMBERS, values[i], args);
    }
  });
  const sweeps = doc.sweeps.map((sweep) =>
    sweep.mode === "forward"
      ? lazy({ terms: [] }, "numbers", () => forward(doc, partials, sweep))
      : lazy({ numbers: [] }, "terms", () => reverse(doc, partials, sweep)),
  );
  return { values, partials, sweeps, moved: true };
}

function forward(doc, partials, sweep) {
  const dot = new Array(doc.nodes.length);
  dot[sweep.root] = 1;
  for (const i of sweep.order.slice(1)) {
    let total = null;
    doc.nodes[i].args.forEach((arg, k) => {
      const slope = partials[i][k];
      if (Array.isArray(arg) || dot[arg] == null || slope == null) return;
      const term = slope * dot[arg];
      total = total === null ? term : total + term;
    });
    dot[i] = total;
  }
  for (const i of sweep.order) dot[i] ??= 0;
  return dot;
}

function reverse(doc, partials, sweep) {
  const bar = new Array(doc.nodes.length);
  bar[sweep.root] = 1;
  const terms = [];
  for (let i = doc.nodes.length - 1; i >= 0; i--) {
    if (bar[i] === undefined || !doc.nodes[i].op) continue;
    doc.nodes[i].args.forEach((arg, k) => {
      const slope = partials[i][k];
      if (Array.isArray(arg) || slope == null) return;
      const first = bar[arg] === undefined;
      bar[arg] = first ? bar[i] * slope : bar[arg] + bar[i] * slope;
      terms.push([arg, i, k, Number(first), bar[arg]]);
    });
  }
  return terms;
}

// One way in which the program is folded: the box of each node, and which boxes stand for several.
function folding(doc, number) {
  const view = doc.views[number];
  const owner = new Int32Array(doc.nodes.length);
  for (const [box] of view.boxes) {
    const { start, size } = doc.boxes[box];
    for (let rank = start; rank < start + size; rank++) owner[doc.order[rank]] = box;
  }
  const single = (i) => doc.boxes[owner[i]].size === 1;
  return { number, view, owner, single };
}

const nodesIn = (doc, { start, size }) => doc.order.slice(start, start + size);

// The steps of each phase, one by one; an accumulation knows what the sums were before it.
function phases(doc, model) {
  const values = () => doc.nodes.map((_, i) => ({ kind: "value", node: i, by: i }));
  return [lazy({ id: "values", sweep: -1 }, "events", values), ...doc.sweeps.flatMap((sweep, s) => [
    lazy({ id: "order", sweep: s }, "events", () => searched(sweep)),
    lazy({ id: sweep.mode, sweep: s }, "events", () => swept(sweep, model.sweeps[s])),
  ])];
}

const searched = (sweep) =>
  sweep.search.map(([placed, node]) => ({ kind: placed ? "place" : "visit", node, by: node }));

function swept(sweep, found) {
  const seed = { kind: "seed", node: sweep.root, by: sweep.root, number: decode(sweep.start) };
  return [seed, ...(sweep.mode === "forward" ? tangents(sweep, found.numbers) : accumulations(sweep, found.terms))];
}

const tangents = (sweep, numbers) =>
  sweep.order.slice(1).map((i) => ({ kind: "tangent", node: i, by: i, number: numbers[i] }));

function accumulations(sweep, terms) {
  const bar = new Map([[sweep.root, decode(sweep.start)]]);
  return terms.map(([node, child, k, first, number], at) => {
    const event = { kind: "accumulate", at, node, child, by: child, k, first: Boolean(first), number,
      from: bar.get(child), before: bar.get(node) };
    bar.set(node, number);
    return event;
  });
}

// The steps as they are taken: what one folded box does in a row is one step.
function collapsed(phase, fold) {
  return lazy({ id: phase.id, sweep: phase.sweep }, "events", () => {
    const events = [];
    for (const event of phase.events) {
      const box = fold.single(event.by) ? -1 : fold.owner[event.by];
      const last = events[events.length - 1];
      if (box < 0) events.push(event);
      else if (last?.box === box) last.events.push(event);
      else events.push({ kind: "fold", node: -1, box, events: [event] });
    }
    return events;
  });
}

const amountOf = (event) => event?.events?.length ?? 1;

// How many single steps the first `count` steps are; and the other way round.
function singleSteps(phase, count) {
  let total = 0;
  for (const event of phase.events.slice(0, count)) total += amountOf(event);
  return total;
}

function stepsFor(phase, total) {
  let count = 0;
  for (let done = 0; done < total && count < phase.events.length; count++) done += amountOf(phase.events[count]);
  return count;
}

// What is known after the first `count` steps of a phase.
function known(doc, phase, count) {
  const state = { derivatives: new Map(), visited: new Set(), placed: new Set(), path: [] };
  const values = new Set();
  state.hasValue = phase.id === "values" ? (i) => values.has(i) : () => true;
  const down = doc.sweeps[phase.sweep]?.mode === "forward";
  for (let at = 0; at < Math.min(count, phase.events.length); at++) {
    const step = phase.events[at];
    for (const event of step.events ?? [step]) {
      if (event.kind === "value") values.add(event.node);
      else if (event.kind === "visit") state.visited.add(event.node);
      else if (event.kind === "place") state.placed.add(event.node);
      else state.derivatives.set(event.node, event.number);
    }
    if (down && !step.events) walk(state.path, step);
  }
  return state;
}

// The path from the root to where a depth-first search stands.
function walk(path, event) {
  if (event.kind === "visit") path.push(event.node);
  else if (event.kind === "place") path.pop();
}

// A number in a few digits, as the tables of the library write it.
function short(number, digits = 3) {
  if (number === null || number === undefined) return "0";
  if (typeof number === "object") return number.shape ?? number.text;
  if (Number.isNaN(number)) return "nan";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  const size = Math.abs(number);
  if (number === 0) return "0";
  const most = size < 1 ? digits : Math.max(digits, 7);
  const text = size >= 0.1 && size < 1e7 ? fixed(number, digits) : scientific(number.toPrecision(most), most);
  if (Math.abs(Number(text) - number) > 1e-12 * Math.max(size, Math.abs(Number(text)))) return text; // rounded: its zeros say so
  const [bare, exact] = [strip(text), python(number, 16)];
  return exact.length < bare.length ? exact : bare;
}

// Without zeros at the end of each number, after its point.
const strip = (text) => text.replace(/(\.\d*?)0*(?=e|$|[^\d.])/g, (_, kept) => kept.replace(/\.$/, ""));

// So many significant digits, as Python writes them.
function scientific(text, most) {
  const exponent = Number(Number(text).toExponential().split("e")[1]);
  if (exponent >= -4 && exponent < most) return Number(text).toFixed(Math.max(0, most - 1 - exponent));
  const [digits] = Number(text).toExponential(most - 1).split("e");
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

// As many decimals; what lies exactly between two numbers goes to the even one, as in Python.
function fixed(number, digits) {
  const text = number.toFixed(digits);
  const between = Number.isInteger(number * 2 ** (digits + 1)) && (Math.abs(number) * 10 ** digits) % 1 === 0.5;
  if (!between || Number(text.at(-1)) % 2 === 0) return text;
  const below = Math.floor(Math.abs(number) * 10 ** digits) / 10 ** digits;
  return (number < 0 ? -below : below).toFixed(digits);
}

// A number as Python writes it: with an exponent from `most` digits on, or below 0.0001.
function python(given, most = 7) {
  const number = Number(given);
  const [digits, power] = number.toExponential().split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < most) return String(number);
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

// A minus sign for the hyphen that computers write.
const minus = (text) => text.replaceAll("-", "−");

// A number as it is shown.
const numeral = (number, digits = 3) => minus(short(number, digits));
