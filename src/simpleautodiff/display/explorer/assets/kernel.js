// Programs of arrays at another point: every number of the page is the result of one program on single
// numbers, which Python has recorded (`doc.kernel`).

const OPERATIONS = {
  ...NUMBERS,
  fmod: (x, y) => x % y,
  xor: (a, b) => a !== b,
  signbit: (x) => side(x) < 0,
  select: FUNCTIONS.where,
  to_float64: Number,
  to_int64: Math.trunc,
};

// The numbers of all steps of a program: a step is an input, a constant, or an operation on earlier
// steps. Where the function would take another branch, there are none.
function runKernel({ steps, guards }, inputs) {
  const numbers = [];
  for (const [operation, ...args] of steps) {
    numbers.push(args.length === 0 ? decode(operation) : operation === "input" ? inputs[args[0]]
      : OPERATIONS[operation](...args.map((at) => numbers[at])));
  }
  return guards.every(([at, expected]) => Boolean(numbers[at]) === expected) ? numbers : null;
}

// Where each result of a program stands among its outputs, and what shape it has.
function resultsOf(kernel) {
  let start = 0;
  return (kernel.results ??= kernel.shapes.map((dims) => {
    const size = dims.reduce((product, length) => product * length, 1);
    return { dims, steps: kernel.outputs.slice(start, start += size) };
  }));
}

// Some numbers of a program once more, with other numbers in place of those of some steps.
function recompute({ steps }, numbers, wanted, given) {
  const found = new Map(given), waiting = [...wanted], needed = new Set();
  while (waiting.length) {
    const at = waiting.pop(), [operation, ...args] = steps[at];
    if (found.has(at) || needed.has(at) || !args.length || operation === "input") continue;
    needed.add(at);
    waiting.push(...args);
  }
  const numberAt = (at) => (found.has(at) ? found.get(at) : numbers[at]);
  for (const at of [...needed].sort((a, b) => a - b)) {
    const [operation, ...args] = steps[at];
    found.set(at, OPERATIONS[operation](...args.map(numberAt)));
  }
  return wanted.map(numberAt);
}

// The elements of all inputs, one after the other; some were moved.
function elementsOf(doc, moved) {
  return doc.kernel.inputs.flatMap((i) => {
    const { value } = doc.nodes[i];
    if (!isArray(value)) return [moved[i] ?? decode(value)];
    return value.elements.map((number, at) => moved[i]?.[at] ?? decode(number));
  });
}

// The same for single numbers, of a function that compares them: by the page's own formulas, with the
// conditions as they are there.
function computedOnBranch(doc, inputs) {
  const numbers = runKernel(doc.kernel, elementsOf(doc, inputs));
  if (!numbers) return null;
  doc.kernel.slots.forEach((slot, j) => {
    slot.slice(0, -1).reduce((part, key) => part[key], doc)[slot.at(-1)] = Number(numbers[doc.kernel.outputs[j]]);
  });
  return computed(doc, inputs);
}

// What the page shows for other inputs: the same document, with other numbers in its slots.
function computedByKernel(doc, inputs) {
  const copy = {
    nodes: doc.nodes.map((node) => ({ ...node, partials: { ...node.partials } })),
    sweeps: doc.sweeps.map(({ numbers, terms }) => ({ numbers: { ...numbers }, terms: (terms ?? []).map((term) => [...term]) })),
  };
  const numbers = runKernel(doc.kernel, elementsOf(doc, inputs));
  if (!numbers) return null;
  resultsOf(doc.kernel).forEach(({ dims, steps }, j) => {
    const slot = doc.kernel.slots[j];
    if (!slot.length || slot[2] === "args") return; // a constant or a condition, which only rows need
    const holder = slot.slice(0, -1).reduce((part, key) => part[key], copy);
    const found = steps.map((at) => Number(numbers[at]));
    holder[slot.at(-1)] = dims.length ? arrayOf(holder[slot.at(-1)], dims, found) : found[0];
  });
  return { ...recorded(copy), moved: true, fill: (row) => fillRow(doc.kernel, numbers, row) };
}

// An array as the page has it; those that are not drawn have no elements.
function arrayOf(old, dims, numbers) {
  const there = numbers.filter((number) => !Number.isNaN(number)).map(Math.abs);
  const text = `${old?.text.split("(")[0] ?? "float64"}${shapeText(dims)} ${arrayText(dims, numbers)}`;
  return { text, shape: shapeText(dims), most: Math.max(0, ...there), nan: there.length < numbers.length,
    ...(old?.elements ? { dims, elements: numbers } : {}) };
}

const shapeText = (dims) => `(${dims.join(", ")}${dims.length === 1 ? "," : ""})`;

// The first few elements along each axis, as the tables have them: [[1, 2, 3, …], …].
function arrayText([length, ...inner], numbers, write = short) {
  const size = numbers.length / length;
  const few = Math.min(length, !inner.length || length <= 3 ? 3 : 1);
  const parts = Array.from({ length: few }, (_, i) =>
    inner.length ? arrayText(inner, numbers.slice(i * size, (i + 1) * size), write) : write(numbers[i]));
  return `[${[...parts, ...(length > few ? ["…"] : [])].join(", ")}]`;
}

const PLACE = /⟦(\d+)([tb]?)(?: (\d)(s?))?⟧/g; // which result, of which kind; what it stands in, and whether after a sign
const MOST_READ = 100; // elements of an array that are computed again from their digits

// A row that Python wrote with places, filled in: { symbols, numbers }, as text.
function fillRow(kernel, numbers, [symbols, template, result]) {
  const results = resultsOf(kernel);
  const found = (steps) => steps.map((at) => Number(numbers[at]));
  const print = (dims, [first, ...rest], write) => (dims.length ? arrayText(dims, [first, ...rest], write) : write(first));
  // How the numbers of a place are written: an input as it was typed, a condition as Python does.
  const writerOf = ({ dims }, kind, digits) => (kind === "b" ? (truth) => (truth ? "True" : "False")
    : (number) => (kind === "t" && !dims.length ? typed : short)(number, digits));
  const fill = (text, digits) => text.replace(PLACE, (_, j, kind, binds, signed) => {
    const { dims, steps } = results[j];
    const number = print(dims, found(steps), writerOf(results[j], kind, digits));
    const own = dims.length ? CALL : bindsOf(number);
    return own < (binds ?? 0) || (signed && own === SIGN) ? `(${number})` : number;
  }).replaceAll(" + -", " - ");
  const places = [...template.matchAll(PLACE)].filter(([, , kind]) => kind !== "b").map(([, j, kind]) => ({ ...results[j], kind }));
  const { dims, steps } = results[result] ?? {};
  const unread = template.includes("∂") || places.some((place) => place.steps.length > MOST_READ);
  if (!steps || unread) return { symbols: fill(symbols), numbers: fill(template) };
  const said = (digits) => recompute(kernel, numbers, steps, places.flatMap((place) => {
    const write = writerOf(place, place.kind, digits);
    return place.steps.map((at) => [at, Number(write(Number(numbers[at])).replace("inf", "Infinity"))]);
  }));
  const written = (digits) => ({ text: fill(template, digits), said: said(digits) });
  return { symbols: fill(symbols), numbers: writeTrue(written, found(steps), (all) => print(dims, all, short)) };
}
