// The address of a page: formula, point, phase and step, so that a link opens there.

function readAddress() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

// As little escaped as an address allows.
const escaped = (text) => encodeURIComponent(text).replace(/%(3D|2C|2F|3A|5B|5D)/g, decodeURIComponent);

// Write some of the fields of the address, and take away those that are undefined; not too often,
// because browsers count.
const writeAddress = (() => {
  let timer = 0, fields = {};
  const write = () => {
    const kept = Object.entries({ ...readAddress(), ...fields }).filter(([, value]) => value !== undefined);
    clearTimeout(timer);
    [fields, timer] = [{}, 0];
    const hash = kept.map(([key, value]) => `${key}=${escaped(value)}`).join("&");
    if (`#${hash}` !== location.hash) history.replaceState(null, "", `#${hash}`);
  };
  return (changed, atOnce = false) => {
    Object.assign(fields, changed);
    if (atOnce) write();
    else timer ||= setTimeout(write, 150);
  };
})();

// A point as text, `x1=2,x2=5`, and back.
const pointText = (at) => Object.entries(at).map(([name, value]) => `${name}=${Array.isArray(value) ? JSON.stringify(value) : value}`).join(",");

function readPoint(text) {
  const at = {};
  for (const [, name, number] of (text ?? "").matchAll(/([\p{L}_][\p{L}\w[\]]*)\s*=\s*(\[[-+\d.eE,\s[\]]*\]|[^\s,;]+)/gu)) {
    at[name] = readList(number) ?? (Number.isFinite(Number(number)) ? Number(number) : number); // JSON has no others
  }
  return at;
}

// The place of a step in an address, and back: a phase by its name and the root of its sweep.
function placeOf(doc, phase, count) {
  const root = doc.sweeps[phase.sweep]?.root;
  return { phase: phase.id, from: root === undefined ? undefined : doc.nodes[root].name, step: String(count) };
}

function findPlace(doc, steps, { phase, from, step }) {
  const index = steps.findIndex((one) => one.id === phase &&
    (from === undefined || one.sweep < 0 || doc.nodes[doc.sweeps[one.sweep].root].name === from));
  return index < 0 ? null : { phase: index, count: Number(step) || 0 };
}

// An array as nested lists, and back; undefined if the text is none.
function nested(value) {
  if (!hasElements(value)) return value;
  return value.dims.slice(1).reduceRight((list, length) =>
    Array.from({ length: list.length / length }, (_, i) => list.slice(i * length, (i + 1) * length)), value.elements);
}

function readList(text) {
  try {
    return text.startsWith("[") ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

// The inputs that an address gives, and their numbers; of an array, those of its elements.
function findInputs(doc, text) {
  const at = readPoint(text);
  const given = doc.inputs.map((i) => [i, doc.nodes[i].value, at[doc.nodes[i].name]]);
  const fitting = given.filter(([, value, found]) => (isArray(value)
    ? hasElements(value) && Array.isArray(found) && found.flat(Infinity).length === value.elements.length
    : typeof found === "number"));
  return Object.fromEntries(fitting.map(([i, , found]) => [i, Array.isArray(found) ? { ...found.flat(Infinity) } : found]));
}

// Whether an input has other numbers than these.
const isMoved = (value, to) => (isArray(value) ? Object.entries(to).some(([at, number]) => decode(value.elements[at]) !== number) : value !== to);
