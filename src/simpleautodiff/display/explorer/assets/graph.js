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


// Points of a layout, which runs from left to right; or turned, so that it runs from top to bottom.
function turned(doc, view, down) {
  if (!down) return { at: (x, y) => [x, y], width: Math.ceil(view.size[0]), height: Math.ceil(view.size[1]) };
  const [wide, high] = doc.turn;
  return { at: (x, y) => [y * wide, x * high], width: Math.ceil(view.size[1] * wide), height: Math.ceil(view.size[0] * high) };
}

const joined = (points) => points.map((point) => point.map((n) => n.toFixed(1))).join(" ");

// A route is a point and then, three by three, the points of cubic curves.
function routed(route, at) {
  const points = [];
  for (let i = 0; i < route.length; i += 2) points.push(at(route[i], route[i + 1]));
  let path = `M${joined([points[0]])}`;
  for (let i = 1; i < points.length; i += 3) path += `C${joined(points.slice(i, i + 3))}`;
  const middle = 3 * Math.floor((points.length - 1) / 6);
  const [a, b, c, d] = [0, 1, 2, 3].map((k) => points[middle + k]);
  const half = [0, 1].map((k) => (a[k] + 3 * b[k] + 3 * c[k] + d[k]) / 8);
  return { path, half };
}

function arrow(id) {
  return make("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9,
    markerUnits: "userSpaceOnUse", orient: "auto-start-reverse", class: id },
  make("path", { d: "M0 .6L8 4L0 7.4z" }));
}

// Draw a view once; painting then only changes classes and numbers.
function drawing(doc, view, down) {
  const { at, width, height } = turned(doc, view, down);
  const svg = make(
    "svg",
    { viewBox: `0 0 ${width.toFixed(0)} ${height.toFixed(0)}`, role: "group", "aria-label": "Computational graph" },
    make("defs", {}, arrow("arrow"), arrow("arrow-lit")),
  );
  const drawn = { svg, width, height, nodes: new Map(), edges: [] };
  const labels = make("g", {});
  for (const [tail, head, route] of view.edges) {
    const { path: d, half } = routed(route, at);
    const path = make("path", { d, class: "edge", "marker-end": "url(#arrow)" });
    const [dx, dy] = down ? [18, 4] : [0, -6]; // beside the edge, or above it
    const label = make("text", { class: "slope", x: (half[0] + dx).toFixed(1), y: (half[1] + dy).toFixed(1) });
    svg.append(path);
    labels.append(label);
    drawn.edges.push({ ...ends(doc, tail, head, drawn.edges), path, label });
  }
  for (const [box, x, y] of view.boxes) drawn.nodes.set(box, drawNode(doc, view, box, at(x, y), svg));
  svg.append(labels);
  return drawn;
}

// The boxes of an edge; between two single nodes also which argument it is.
function ends(doc, tail, head, before) {
  const [a, b] = [tail, head].map((box) => (doc.boxes[box].size === 1 ? doc.order[doc.boxes[box].start] : -1));
  const uses = (doc.nodes[b]?.args ?? []).flatMap((arg, k) => (arg === a ? [k] : []));
  const twins = before.filter((edge) => edge.tail === tail && edge.head === head).length;
  return { tail, head, a, b, k: a < 0 ? undefined : uses[twins] };
}

const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function drawNode(doc, view, box, [x, y], svg) {
  const [width, height] = doc.box;
  const [left, top] = [x - width / 2, y - height / 2];
  const place = (cls, dx, dy, ...text) => make("text", { class: cls, x: (left + dx).toFixed(1), y: (top + dy).toFixed(1) }, ...text);
  const fold = doc.boxes[box].size > 1;
  const heat = make("g", { class: "heat" });
  const parts = {
    value: place("value", 8, fold ? 50 : 35), derivative: place("derivative", 8, 50),
    badge: place("badge", width - 8, 50),
  };
  const frame = make("rect", { x: left.toFixed(1), y: top.toFixed(1), width, height, rx: 8 });
  const heads = fold ? foldHeads(doc.boxes[box], place) : nodeHeads(doc, box, place);
  const able = fold && box in view.unfold;
  const group = make("g", {
    class: `node ${fold ? "fold" : kindOf(doc, box)}${able ? " able" : ""}`, tabindex: 0, "data-box": box,
    "data-node": fold ? undefined : doc.order[doc.boxes[box].start],
    role: able ? "button" : "img", "aria-expanded": able ? "false" : undefined,
  }, frame, heat, ...heads, ...Object.values(parts));
  svg.append(group);
  return { group, ...parts, picture: { group: heat, x: left + width - 38, y: top + 29 } };
}

function kindOf(doc, box) {
  const i = doc.order[doc.boxes[box].start];
  return doc.nodes[i].op ? (doc.outputs.includes(i) ? "output" : "") : "input";
}

// Pixels of a name, whose last digits are a subscript.
const letterWidth = (letter) => (/[mwMW…]/.test(letter) ? 15.5 : /[A-Z_]/.test(letter) ? 12 : /[ijlrtf[\]().]/.test(letter) ? 8 : 10);
function nameWidth(name) {
  const digits = name.match(/\d*$/)[0].length;
  return [...name.slice(0, name.length - digits)].reduce((sum, letter) => sum + letterWidth(letter), 7 * digits);
}

// Pixels of a number in a box, or of signs around it.
const lineWidth = (text) => [...text].reduce((sum, sign) => sum + (/[−=]/.test(sign) ? 10.5 : /[. ]/.test(sign) ? 4 : 8), 0);

// A name, or as much of it as there is room for.
function fitName(name, room) {
  let most = name.length;
  while (most > 2 && nameWidth(clipped(name, most)) > room) most -= 1;
  return clipped(name, most);
}

// The name, which for a result is "y = v5", and the operation, as far as there is room.
function nodeHeads(doc, box, place) {
  const i = doc.order[doc.boxes[box].start];
  const node = doc.nodes[i], result = resultNames(doc).get(i);
  const name = place("name", 8, 18);
  const before = result && result !== node.name ? 9 * result.length + 28 : 0;
  if (before) name.append(...nameSvg(result), make("tspan", {}, " = "));
  const own = fitName(node.name, doc.box[0] - 16 - before);
  name.append(...nameSvg(own));
  const used = nameWidth(own) + before;
  const room = Math.floor((doc.box[0] - 20 - used) / 6.6);
  const operator = node.op ?? "input";
  const fits = room >= operator.length || (node.op && room > 3);
  return [name, place("operator", doc.box[0] - 8, 17, fits ? clipped(operator, room) : "")];
}

// A folded box has the name of its function, loop or line, and how much is in it.
function foldHeads({ title, name, kind, times, size }, place) {
  const steps = `${size.toLocaleString("en")} ${kind === "inputs" ? "inputs" : "steps"}`;
  const count = times > 1 ? `loop ×${times.toLocaleString("en")}` : steps;
  return [place("title", 8, 17, clipped(name || title.split("\n")[0], 11)), place("amount", 8, 34, count)];
}
