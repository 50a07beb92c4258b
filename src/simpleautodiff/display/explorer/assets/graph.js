// Elements, names in type, and the drawing of the graph.

const SVG = "http://www.w3.org/2000/svg";
const MARKS = { forward: "\u0307", reverse: "\u0304" };

function make(tag, attributes = {}, ...children) {
  const svg = /^(svg|g|path|rect|text|tspan|marker|defs|circle)$/.test(tag);
  const element = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// v4 as an italic letter and a subscript, with the dot of a tangent or the bar of an adjoint.
function split(name, mode) {
  const [, base, digits] = /^(\D+)(\d*)$/.exec(name) ?? [null, name, ""];
  const mark = MARKS[mode] ?? "";
  return [base.slice(0, 1) + mark + base.slice(1), digits];
}

function nameHtml(name, mode) {
  const [base, digits] = split(name, mode);
  const italic = make("i", {}, base);
  return digits ? [italic, make("sub", {}, digits)] : [italic];
}

function nameSvg(name, mode) {
  const [base, digits] = split(name, mode);
  const parts = [make("tspan", { class: "letter" }, base)];
  if (digits) parts.push(make("tspan", { class: "sub", dy: "4" }, digits));
  if (digits) parts.push(make("tspan", { dy: "-4" }, "\u200b"));
  return parts;
}

const BOX = { width: 116, height: 62 };

// Turn (layer, place) into points: from left to right, or from top to bottom on a narrow screen.
function pointer(points, down) {
  const across = points.map((p) => p[2]);
  const low = Math.min(...across);
  const unit = down ? [BOX.width + 18, BOX.height + 46] : [BOX.width + 62, BOX.height + 30];
  const margin = 14;
  const at = (layer, place) =>
    down
      ? [margin + BOX.width / 2 + (place - low) * unit[0], margin + BOX.height / 2 + layer * unit[1]]
      : [margin + BOX.width / 2 + layer * unit[0], margin + BOX.height / 2 + (place - low) * unit[1]];
  const end = at(Math.max(...points.map((p) => p[1])), Math.max(...across));
  return { at, width: end[0] + BOX.width / 2 + margin, height: end[1] + BOX.height / 2 + margin };
}

function smooth(points, down) {
  const axis = down ? 1 : 0;
  let path = `M${points[0].map((n) => n.toFixed(1))}`;
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1], points[i]];
    const middle = (a[axis] + b[axis]) / 2;
    const [c, d] = down ? [[a[0], middle], [b[0], middle]] : [[middle, a[1]], [middle, b[1]]];
    path += `C${[c, d, b].map((point) => point.map((n) => n.toFixed(1))).join(" ")}`;
  }
  return path;
}

// Draw everything once; `show` then only changes classes and numbers.
function drawing(doc, down) {
  const { at, width, height } = pointer(doc.graph.points, down);
  const place = new Map(doc.graph.points.map(([i, layer, across]) => [i, at(layer, across)]));
  const arrow = (id) =>
    make("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9,
      markerUnits: "userSpaceOnUse",
      orient: "auto-start-reverse", class: id }, make("path", { d: "M0 .6L8 4L0 7.4z" }));
  const svg = make(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Computational graph" },
    make("defs", {}, arrow("arrow"), arrow("arrow-lit")),
  );
  const edges = new Map();
  const nodes = new Map();
  for (const [a, b, route] of doc.graph.edges) {
    const half = down ? [0, BOX.height / 2] : [BOX.width / 2, 0];
    const [start, end] = [place.get(a), place.get(b)];
    const points = [
      [start[0] + half[0], start[1] + half[1]],
      ...route.map(([layer, across]) => at(layer, across)),
      [end[0] - half[0], end[1] - half[1]],
    ];
    const middle = points.length > 2 ? points[points.length >> 1]
      : [(points[0][0] + points[1][0]) / 2, (points[0][1] + points[1][1]) / 2];
    const path = make("path", { d: smooth(points, down), class: "edge", "marker-end": "url(#arrow)" });
    const label = make("text", { class: "slope", x: middle[0], y: middle[1] - 6 });
    svg.append(make("g", {}, path, label));
    edges.set(`${a} ${b}`, { path, label, middle });
  }
  for (const [i] of doc.graph.points) nodes.set(i, drawNode(doc, i, place.get(i), svg));
  return { svg, width, height, nodes, edges, place };
}

function drawNode(doc, i, [x, y], svg) {
  const node = doc.nodes[i];
  const [left, top] = [x - BOX.width / 2, y - BOX.height / 2];
  const output = doc.outputs.includes(i);
  const kind = i < 0 ? "fold" : node.op ? (output ? "output" : "") : "input";
  const name = make("text", { class: "name", x: left + 11, y: top + 22 });
  name.append(...(i < 0 ? ["⋯"] : nameSvg(node.name)));
  const what = i < 0 ? `×${doc.folded.length.toLocaleString("en")}` : node.op ?? "input";
  const group = make(
    "g",
    { class: `node ${kind}`, "data-node": i, tabindex: 0, role: "img" },
    make("rect", { x: left, y: top, width: BOX.width, height: BOX.height, rx: 9 }),
    name,
    make("text", { class: "operator", x: left + BOX.width - 10, y: top + 21 }, what),
  );
  const value = make("text", { class: "value", x: left + 11, y: top + 40 });
  const derivative = make("text", { class: "derivative", x: left + 11, y: top + 55 });
  const badge = make("text", { class: "badge", x: left + BOX.width - 10, y: top + 55 });
  group.append(value, derivative, badge);
  svg.append(group);
  return { group, value, derivative, badge };
}
