// Breakpoints: `v4`, `line 12`, `> 100`, `nan`, as in the terminal; several with commas between them.

const isArray = (number) => number !== null && typeof number === "object";
const largest = (number) => (isArray(number) ? decode(number.most) : Math.abs(number));
const hasNan = (number) => (isArray(number) ? number.nan === true : Number.isNaN(number));

// One breakpoint as a test of a node and its number; undefined if there is no such place.
function breakpoint(text, doc) {
  if (text === "nan") return (_, number) => hasNan(number);
  const size = /^>\s*(\S+)$/.exec(text)?.[1];
  if (size) return Number.isNaN(Number(size)) ? undefined : (_, number) => largest(number) > Number(size);
  const wanted = /^line\s+(.+)$/.exec(text)?.[1];
  const on = (line) => (/^\d+$/.test(wanted) ? line.number === Number(wanted) : line.text.includes(wanted));
  const nodes = wanted ? doc.code.filter(on).flatMap((line) => line.nodes)
    : [doc.nodes.findIndex((node) => node.name === text)].filter((i) => i >= 0);
  const set = new Set(nodes);
  return nodes.length ? (node) => set.has(node) : undefined;
}

// The breakpoints of a text, and those parts of it that are none.
function breakpoints(text, doc) {
  const parts = text.split(",").map((part) => part.trim()).filter(Boolean);
  const tests = parts.map((part) => breakpoint(part, doc));
  return { tests: tests.filter(Boolean), wrong: parts.filter((_, i) => !tests[i]) };
}

// Whether to stop after a step; a folded box is stopped at for any step in it.
function stopsAfter(step, tests, model) {
  const number = (event) => (event.kind === "value" ? model.values[event.node] : event.number);
  return (step?.events ?? (step ? [step] : [])).some((event) =>
    tests.some((test) => test(event.node, number(event))));
}

// The field that breakpoints are written into: whether to stop after a step. Enter runs on.
function stopField(field, doc, model, run) {
  let tests = [];
  field.addEventListener("input", () => {
    const read = breakpoints(field.value, doc);
    tests = read.tests;
    field.setAttribute("aria-invalid", read.wrong.length > 0);
  });
  field.addEventListener("keydown", (event) => event.key === "Enter" && run());
  return (step) => stopsAfter(step, tests, model());
}

// Where one comes from `here`: after the next step to stop at, or at the end of the last phase.
function ranOn(steps, sequence, here, stops) {
  let { phase, count } = here;
  for (;;) {
    const { events } = steps[phase];
    while (count < events.length) if (stops(events[count++])) return { phase, count };
    const next = sequence[sequence.indexOf(phase) + 1];
    if (next === undefined) return { phase, count };
    [phase, count] = [next, 0];
  }
}
