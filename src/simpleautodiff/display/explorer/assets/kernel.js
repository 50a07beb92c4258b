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

// The results of a program: a step is an input, a constant, or an operation on earlier steps. Where the
// function would take another branch, there are none.
function runKernel({ steps, guards, outputs }, inputs) {
  const numbers = [];
  for (const [operation, ...args] of steps) {
    numbers.push(args.length === 0 ? decode(operation) : operation === "input" ? inputs[args[0]]
      : OPERATIONS[operation](...args.map((at) => numbers[at])));
  }
  return guards.every(([at, expected]) => Boolean(numbers[at]) === expected) ? outputs.map((at) => Number(numbers[at])) : null;
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
  const conditions = runKernel(doc.kernel, elementsOf(doc, inputs));
  if (!conditions) return null;
  doc.kernel.slots.forEach((slot, j) => {
    slot.slice(0, -1).reduce((part, key) => part[key], doc)[slot.at(-1)] = conditions[j];
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
  let start = 0;
  doc.kernel.slots.forEach((slot, j) => {
    const dims = doc.kernel.shapes[j];
    const size = dims.reduce((product, length) => product * length, 1);
    const holder = slot.slice(0, -1).reduce((part, key) => part[key], copy);
    const old = holder[slot.at(-1)];
    holder[slot.at(-1)] = dims.length ? arrayOf(old, dims, numbers.slice(start, start + size)) : numbers[start];
    start += size;
  });
  return { ...recorded(copy), moved: true };
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
function arrayText([length, ...inner], numbers) {
  const size = numbers.length / length;
  const few = Math.min(length, !inner.length || length <= 3 ? 3 : 1);
  const parts = Array.from({ length: few }, (_, i) =>
    inner.length ? arrayText(inner, numbers.slice(i * size, (i + 1) * size)) : short(numbers[i]));
  return `[${[...parts, ...(length > few ? ["…"] : [])].join(", ")}]`;
}
