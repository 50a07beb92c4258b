// A slider for each input; of many, the first few, and the others when they are asked for.

const FIRST_SLIDERS = 8;

function sliders(part, doc, options, move, reset) {
  const inputs = doc.inputs.filter((i) => typeof doc.nodes[i].value === "number");
  const fixed = doc.why && !options.ask;
  if (fixed) part.sliders.append(make("p", { class: "note" }, doc.why));
  if (fixed || !inputs.length) return { set: () => {} };
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
    for (const i of inputs.slice(0, count)) if (!made.has(i)) made.set(i, slider(doc, i, move));
    for (const i of inputs.slice(count)) made.delete(i);
    list.replaceChildren(...inputs.slice(0, count).map((i) => made.get(i).element));
    others.hidden = inputs.length <= FIRST_SLIDERS;
    others.textContent = made.size < inputs.length ? `All ${inputs.length.toLocaleString("en")} inputs` : `Only the first ${FIRST_SLIDERS}`;
    others.setAttribute("aria-expanded", made.size === inputs.length);
  }

  show(FIRST_SLIDERS);
  part.sliders.append(list, make("div", { class: "more" }, others, back));
  // Set the sliders to numbers that come from elsewhere.
  const set = (numbers) => {
    for (const [i, value] of Object.entries(numbers)) {
      if (!made.has(Number(i))) show(inputs.length);
      made.get(Number(i))?.set(value);
    }
  };
  return { set };
}

function slider(doc, i, move) {
  const { name, value } = doc.nodes[i];
  const span = Math.max(1, 2 * Math.abs(value));
  const range = make("input", { type: "range", min: value - span, max: value + span,
    step: span / 200, value, "aria-label": `${name}, slider` });
  const box = make("input", { type: "number", step: "any", value, "aria-label": name });
  range.value = value;
  range.addEventListener("input", () => {
    box.value = String(Number(Number(range.value).toPrecision(6)));
    move(i, Number(box.value));
  });
  box.addEventListener("change", () => {
    if (!Number.isFinite(box.valueAsNumber)) return;
    range.value = box.value;
    move(i, box.valueAsNumber);
  });
  const set = (to = value) => {
    range.value = to;
    box.value = to;
  };
  const label = make("span", { class: "n", "data-node": i }, ...nameHtml(name));
  return { element: make("label", { "data-node": i }, label, range, box), set };
}
