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
    sweeps: doc.sweeps.map((sweep) => ({
      numbers: mapValues(sweep.numbers ?? {}, decode),
      terms: (sweep.terms ?? []).map((term) => [...term.slice(0, 4), decode(term[4])]),
    })),
  };
}

function mapValues(record, change) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}

// The same for other inputs, by the rows.
function computed(doc, inputs) {
  const values = [];
  const partials = doc.nodes.map((node, i) => {
    if (!node.op) {
      values[i] = inputs[i] ?? decode(node.value);
      return {};
    }
    const args = node.args.map((arg) => (Array.isArray(arg) ? decode(arg[0]) : values[arg]));
    const row = ROWS[node.op];
    values[i] = row.f(...args);
    const slopes = {};
    node.args.forEach((arg, k) => {
      if (!Array.isArray(arg)) {
        const d = row.d[k];
        slopes[k] = typeof d === "function" ? d(values[i], ...args) : d;
      }
    });
    return slopes;
  });
  const sweeps = doc.sweeps.map((sweep) =>
    sweep.mode === "forward"
      ? { numbers: forward(doc, partials, sweep), terms: [] }
      : { numbers: {}, terms: reverse(doc, partials, sweep) },
  );
  return { values, partials, sweeps, moved: true };
}

function forward(doc, partials, sweep) {
  const dot = { [sweep.root]: 1 };
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
  return mapValues(dot, (d) => d ?? 0);
}

function reverse(doc, partials, sweep) {
  const bar = { [sweep.root]: 1 };
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

// The steps of each phase. Steps inside the folded part of a large program become one.
function phases(doc, model) {
  const result = [
    { id: "values", sweep: -1, events: doc.nodes.map((_, i) => ({ kind: "value", node: i })) },
  ];
  doc.sweeps.forEach((sweep, s) => {
    const search = sweep.search.map(([placed, node]) => ({
      kind: placed ? "place" : "visit",
      node,
    }));
    const seed = { kind: "seed", node: sweep.root, number: 1 };
    const found = model.sweeps[s];
    const events =
      sweep.mode === "forward"
        ? sweep.order.slice(1).map((i) => ({ kind: "tangent", node: i, number: found.numbers[i] }))
        : found.terms.map(([node, child, k, first, number]) => ({
            kind: "accumulate", node, child, k, first: Boolean(first), number,
          }));
    result.push({ id: "order", sweep: s, events: search });
    result.push({ id: sweep.mode, sweep: s, events: [seed, ...events] });
  });
  if (!doc.folded.length) return result;
  const folded = new Set(doc.folded);
  return result.map((phase) => ({ ...phase, events: collapse(phase.events, folded) }));
}

function collapse(events, folded) {
  const result = [];
  for (const event of events) {
    const last = result[result.length - 1];
    const hidden = folded.has(event.node);
    if (hidden && last?.kind === "fold") last.events.push(event);
    else result.push(hidden ? { kind: "fold", node: -1, events: [event] } : event);
  }
  return result;
}

// What is known after the first `count` steps of a phase.
function known(doc, phase, count) {
  const state = { values: new Set(), derivatives: new Map(), visited: new Set(), placed: new Set() };
  state.path = [];
  if (phase.id !== "values") doc.nodes.forEach((_, i) => state.values.add(i));
  const down = doc.sweeps[phase.sweep]?.mode === "forward";
  for (const event of flat(phase.events.slice(0, count))) {
    if (event.kind === "value") state.values.add(event.node);
    else if (event.kind === "visit") state.visited.add(event.node);
    else if (event.kind === "place") state.placed.add(event.node);
    else state.derivatives.set(event.node, event.number);
    if (down) walk(state.path, event);
  }
  return state;
}

const flat = (events) => events.flatMap((event) => event.events ?? [event]);

// The path from the root to where a depth-first search stands.
function walk(path, event) {
  if (event.kind === "visit") path.push(event.node);
  else if (event.kind === "place") path.pop();
}

// A number in a few digits, as the tables of the library write it.
function short(number, decimals = 3) {
  if (number === null || number === undefined) return "0";
  if (typeof number === "object") return number.shape ?? number.text;
  if (Number.isNaN(number)) return "nan";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  const size = Math.abs(number);
  if (number === 0) return "0";
  if (size < 10 ** -decimals) return python(number.toPrecision(decimals));
  if (size >= 1e7) return python(number.toPrecision(7));
  const text = number.toFixed(decimals);
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

function python(text) {
  const [digits, power] = Number(text).toExponential().split("e");
  const exponent = Number(power);
  const sign = exponent < 0 ? "-" : "+";
  return exponent >= -4 && exponent < 7
    ? String(Number(text))
    : `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
