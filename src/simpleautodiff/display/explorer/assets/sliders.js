// A slider for each input; of many, the first few, and the others when they are asked for.

const FIRST_SLIDERS = 8;

function sliders(part, doc, options, move, reset) {
  const able = (value) => typeof value === "number" || ((options.ask || doc.kernel) && hasElements(value));
  const inputs = doc.inputs.filter((i) => able(doc.nodes[i].value));
  const fixed = doc.why && !options.ask;
  if (fixed) part.sliders.append(make("p", { class: "note" }, doc.why));
  if (fixed || !inputs.length) return { set: () => {}, say: () => {} };
  const made = new Map();
  const button = (text, act) => {
    const one = make("button", { type: "button", class: "chip" }, text);
    one.addEventListener("click", act);
    return one;
  };
  const back = button("Reset", () => {
    for (const pair of made.values()) pair.set();
    reset();
  });
  const others = button("", () => show(made.size > FIRST_SLIDERS ? FIRST_SLIDERS : inputs.length));
  const list = make("div", { class: "list", role: "group", "aria-label": "Inputs" });

  function show(count) {
    for (const i of inputs.slice(0, count)) if (!made.has(i)) made.set(i, (typeof doc.nodes[i].value === "number" ? slider : elementSlider)(doc, i, move));
    for (const i of inputs.slice(count)) made.delete(i);
    list.style.setProperty("--box", boxWidth(inputs.slice(0, count).map((i) => doc.nodes[i].value)));
    list.replaceChildren(...inputs.slice(0, count).map((i) => made.get(i).element));
    others.hidden = inputs.length <= FIRST_SLIDERS;
    others.textContent = made.size < inputs.length ? `All ${inputs.length.toLocaleString("en")} inputs` : `Only the first ${FIRST_SLIDERS}`;
    others.setAttribute("aria-expanded", made.size === inputs.length);
  }

  show(FIRST_SLIDERS);
  const note = make("p", { class: "note", role: "status", hidden: "" });
  part.sliders.append(list, note, make("div", { class: "more" }, others, back));
  // Set the sliders to numbers that come from elsewhere.
  const set = (numbers) => {
    for (const [i, value] of Object.entries(numbers)) {
      const moved = value !== undefined && isMoved(doc.nodes[i].value, value);
      if (moved && !made.has(Number(i)) && inputs.includes(Number(i))) show(inputs.length);
      made.get(Number(i))?.set(value);
    }
  };
  const say = (text) => {
    note.textContent = text;
    note.hidden = !text;
  };
  return { set, say };
}

// How wide the boxes are in which the longest of these numbers is seen whole.
function boxWidth(values) {
  const numbers = values.flatMap((value) => (typeof value === "number" ? [value] : value.elements.map(decode)));
  const longest = numbers.reduce((most, number) => Math.max(most, String(number).length), 0);
  return `max(84px, ${longest}ch + 40px)`;
}

function slider(doc, i, move) {
  const { name, value } = doc.nodes[i];
  const knob = rangeAndBox(name, value, (to) => move(i, to));
  const label = make("span", { class: "n", "data-node": i }, ...nameHtml(name));
  return { element: make("label", { "data-node": i }, label, knob.range, knob.box), set: knob.set };
}

// Of an array, one slider for the element that is chosen; the others are a choice away.
function elementSlider(doc, i, move) {
  const { name, value: { dims, elements } } = doc.nodes[i];
  const numbers = elements.map(decode);
  const choice = make("select", { "aria-label": `Element of ${name}` },
    ...numbers.map((_, at) => make("option", { value: at }, `${name}${indexText(dims, at)}`)));
  const place = make("span", { class: "knob" });
  const show = () => {
    const at = Number(choice.value);
    const knob = rangeAndBox(`${name}${indexText(dims, at)}`, numbers[at], (to) => move(i, (numbers[at] = to), at));
    place.replaceChildren(knob.range, knob.box);
  };
  choice.addEventListener("change", show);
  show();
  // Set some elements; those that are not given are as they were recorded.
  const set = (given = {}) => {
    elements.forEach((number, at) => (numbers[at] = given[at] ?? decode(number)));
    show();
  };
  return { element: make("div", { class: "element", "data-node": i }, choice, place), set };
}

function rangeAndBox(name, value, tell) {
  const span = Math.max(1, 2 * Math.abs(value));
  const range = make("input", { type: "range", min: value - span, max: value + span,
    step: span / 200, value, "aria-label": `${name}, slider` });
  const box = make("input", { type: "number", step: "any", value, "aria-label": name });
  range.value = value;
  range.addEventListener("input", () => {
    box.value = String(Number(Number(range.value).toPrecision(6)));
    tell(Number(box.value));
  });
  box.addEventListener("change", () => {
    if (!Number.isFinite(box.valueAsNumber)) return;
    range.value = box.value;
    tell(box.valueAsNumber);
  });
  const set = (to = value) => {
    range.value = to;
    box.value = to;
  };
  return { range, box, set };
}
