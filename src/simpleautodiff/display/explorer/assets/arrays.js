// Arrays as heat maps: red for positive, blue for negative numbers, each with its value when pointed at.

const TINY = [8, 4]; // columns and rows of the map in a box of the graph

const hasElements = (number) => Array.isArray(number?.elements);

// Rows and columns of an array: one row if it has one dimension, blocks of rows if more than two.
function gridOf({ elements, dims }) {
  const columns = dims.at(-1) ?? 1;
  const numbers = elements.map(decode);
  return { numbers, columns, rows: numbers.length / columns,
    most: Math.max(...numbers.map((n) => (Number.isFinite(n) ? Math.abs(n) : 0))) || 1 };
}

// The index of an element as NumPy writes it: [2, 0].
function indexText(dims, at) {
  const index = [];
  for (let axis = dims.length - 1; axis >= 0; axis--) {
    index.unshift(at % dims[axis]);
    at = Math.floor(at / dims[axis]);
  }
  return `[${index.join(", ")}]`;
}

function cell(number, most, attributes) {
  const kind = !Number.isFinite(number) ? "odd" : number < 0 ? "minus" : "plus";
  const share = Number.isFinite(number) ? Math.abs(number) / most : 1;
  return make("rect", { class: `cell ${kind}`, "fill-opacity": share.toFixed(3), ...attributes });
}

// The maps in a box of the graph: of the value and, under it, of the derivative.
function paintHeat(place, value, derivative) {
  if (!place) return;
  place.group.replaceChildren(...[value, derivative].flatMap((number, j) => {
    if (!hasElements(number)) return [];
    const { numbers, columns, rows, most } = gridOf(number);
    const [across, down] = [Math.min(columns, TINY[0]), Math.min(rows, TINY[1])];
    const [w, h] = [32 / across, 12 / down];
    const frame = make("rect", { class: "edge-of-heat", x: place.x, y: place.y + 15 * j, width: 32, height: 12 });
    return [frame, ...Array.from({ length: across * down }, (_, i) => {
      const [r, c] = [Math.floor(i / across), i % across];
      const at = Math.floor((r * rows) / down) * columns + Math.floor((c * columns) / across);
      return cell(numbers[at], most, { x: (place.x + c * w).toFixed(2), y: (place.y + 15 * j + r * h).toFixed(2), width: w.toFixed(2), height: h.toFixed(2) });
    })];
  }));
}

// One map with a caption; the elements are told where they are pointed at.
function heatMap(caption, number, name) {
  const { numbers, columns, rows, most } = gridOf(number);
  const side = Math.max(5, Math.min(26, 190 / columns, 130 / rows));
  const svg = make("svg", { viewBox: `0 0 ${columns * side} ${rows * side}`, role: "img",
    "aria-label": `${caption}: ${number.text}` });
  svg.style.width = `${columns * side}px`;
  numbers.forEach((n, i) => {
    const place = { x: (i % columns) * side, y: Math.floor(i / columns) * side, width: side, height: side };
    svg.append(cell(n, most, { ...place, "data-element": i, "data-said": `${name}${indexText(number.dims, i)} = ${numeral(n)}` }));
  });
  return make("figure", { class: "heat" }, make("figcaption", {}, caption), svg,
    make("span", { class: "scale" }, `±${short(most)}`));
}

// Value and derivative of a node side by side; nothing if it is no array, or too large.
function arrayPanel(panel, name, value, derivative, mode) {
  const marked = mode === "forward" ? "\u0307" : "\u0304";
  const maps = [];
  if (hasElements(value)) maps.push(heatMap(`${name}, value`, value, name));
  if (hasElements(derivative)) {
    maps.push(heatMap(`${name}, ${mode === "forward" ? "tangent" : "adjoint"}`, derivative, name.slice(0, 1) + marked + name.slice(1)));
  }
  panel.hidden = !maps.length;
  panel.replaceChildren(...maps, make("p", { class: "readout" }, "Point at an element to read it."));
}

// Pointing at an element reads it in both maps.
function readElements(panel) {
  panel.addEventListener("pointerover", (event) => {
    const at = event.target.dataset?.element;
    if (at === undefined) return;
    const same = [...panel.querySelectorAll(`[data-element="${at}"]`)];
    for (const old of panel.querySelectorAll(".pointed")) old.classList.remove("pointed");
    for (const one of same) one.classList.add("pointed");
    panel.querySelector(".readout").textContent = same.map((one) => one.dataset.said).join("    ");
  });
}
