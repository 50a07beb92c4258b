// A layered layout in the page, for what cannot be laid out beforehand: any stretch of a long program.

const GAPS = { margin: 18, row: 26, lane: 16, layer: 48 };
const FAR = 12; // layers; an edge that passes more of them runs above the graph

// Boxes and the edges between them; between two single nodes one edge for each argument.
function edgesBetween(doc, boxes, owner) {
  const found = [], seen = new Set();
  for (const box of boxes) {
    const { start, size } = doc.boxes[box];
    for (let rank = start; rank < start + size; rank++) {
      for (const arg of doc.nodes[doc.order[rank]].args ?? []) {
        if (Array.isArray(arg) || owner[arg] === box) continue;
        const tail = owner[arg], key = `${tail} ${box}`;
        const singles = size === 1 && doc.boxes[tail].size === 1;
        if (seen.has(key) && !singles) continue;
        seen.add(key);
        found.push([tail, box]);
      }
    }
  }
  return found;
}

// The longest path to each box; an input stands beside its first use.
function layersOf(boxes, edges) {
  const layer = new Map(boxes.map((box) => [box, 0]));
  const into = new Set(edges.map(([, head]) => head));
  const byHead = groupedBy(edges, 1);
  for (const box of boxes) for (const [tail] of byHead.get(box) ?? []) layer.set(box, Math.max(layer.get(box), layer.get(tail) + 1));
  const byTail = groupedBy(edges, 0);
  for (const box of boxes) {
    const uses = byTail.get(box);
    if (!into.has(box) && uses) layer.set(box, Math.min(...uses.map(([, head]) => layer.get(head))) - 1);
  }
  return layer;
}

function groupedBy(edges, end) {
  const groups = new Map();
  for (const edge of edges) {
    if (!groups.has(edge[end])) groups.set(edge[end], []);
    groups.get(edge[end]).push(edge);
  }
  return groups;
}

// Places in one column that are as near as possible to those wished for, in order and apart.
function spread(wishes, sizes) {
  const offset = [0];
  for (let i = 1; i < sizes.length; i++) offset.push(offset[i - 1] + (sizes[i - 1] + sizes[i]) / 2);
  const pools = [];
  wishes.forEach((wish, i) => {
    pools.push({ sum: wish - offset[i], count: 1 });
    while (pools.length > 1 && pools.at(-2).sum / pools.at(-2).count > pools.at(-1).sum / pools.at(-1).count) {
      const last = pools.pop();
      pools.at(-1).sum += last.sum;
      pools.at(-1).count += last.count;
    }
  });
  return pools.flatMap(({ sum, count }) => new Array(count).fill(sum / count)).map((place, i) => place + offset[i]);
}

// Columns of boxes and of lanes, where an edge passes a layer; ordered by the middle of their neighbours.
function columnsOf(boxes, edges, layer) {
  const columns = Array.from({ length: Math.max(...layer.values()) + 1 }, () => []);
  const item = new Map(boxes.map((box) => [box, { box, near: [[], []] }]));
  for (const box of boxes) columns[layer.get(box)].push(item.get(box));
  const link = (a, b) => (a.near[1].push(b), b.near[0].push(a));
  const chains = edges.map(([tail, head]) => {
    const chain = [item.get(tail)];
    if (layer.get(head) - layer.get(tail) > FAR) return [item.get(tail), item.get(head)];
    for (let at = layer.get(tail) + 1; at < layer.get(head); at++) {
      const lane = { near: [[], []] };
      columns[at].push(lane);
      chain.push(lane);
    }
    chain.push(item.get(head));
    for (let i = 1; i < chain.length; i++) link(chain[i - 1], chain[i]);
    return chain;
  });
  const far = chains.map((chain, i) => chain.length === 2 && layer.get(edges[i][1]) - layer.get(edges[i][0]) > FAR);
  return { columns, chains, far };
}

// The heights of the edges that run above the graph: those from one box share a height, and so do those
// that do not meet.
function tracksOf(edges, layer, far) {
  const spans = new Map();
  edges.forEach(([tail, head], i) => far[i] && spans.set(tail, Math.max(spans.get(tail) ?? 0, layer.get(head))));
  const ends = [], track = new Map();
  for (const [tail, last] of [...spans].sort(([a], [b]) => layer.get(a) - layer.get(b))) {
    const free = ends.findIndex((end) => end < layer.get(tail));
    track.set(tail, free < 0 ? ends.length : free);
    ends[track.get(tail)] = last;
  }
  return { track, count: ends.length };
}

function settleColumns(columns, height) {
  const size = (one) => (one.box === undefined ? GAPS.lane : height + GAPS.row);
  const mean = (one, sides) => {
    const near = sides.flatMap((side) => one.near[side]);
    return near.length ? near.reduce((sum, other) => sum + other.y, 0) / near.length : one.y;
  };
  const place = (column, wishes) => {
    const ys = spread(wishes, column.map(size));
    column.forEach((one, i) => (one.y = ys[i]));
  };
  for (const column of columns) place(column, column.map(() => 0));
  for (let pass = 0; pass < 12; pass++) {
    const side = pass % 2; // from the left, then from the right
    for (const column of side ? [...columns].reverse() : columns) {
      if (pass < 8) {
        const wish = new Map(column.map((one) => [one, mean(one, [side])]));
        column.sort((a, b) => wish.get(a) - wish.get(b));
      }
      place(column, column.map((one) => mean(one, pass < 8 ? [side] : [0, 1])));
    }
  }
}

// Lay out boxes, which are numbers of `doc.boxes` in order of execution, as Python's layout does.
function layOut(doc, boxes, owner) {
  const [width, height] = doc.box;
  const edges = edgesBetween(doc, boxes, owner);
  const layer = layersOf(boxes, edges);
  const { columns, chains, far } = columnsOf(boxes, edges, layer);
  const { track, count } = tracksOf(edges, layer, far);
  settleColumns(columns, height);
  const all = columns.flat();
  const top = all.reduce((least, one) => Math.min(least, one.y), 0) - height / 2 - GAPS.margin - GAPS.lane * count;
  const shifts = twinShifts(edges);
  let left = GAPS.margin;
  for (const column of columns) { // more room between layers where edges are steep
    const climbs = column.flatMap((one) => one.near[1].map((next) => Math.abs(next.y - one.y)));
    for (const one of column) one.left = left;
    left += width + GAPS.layer + Math.min(100, 0.2 * Math.max(0, ...climbs));
  }
  for (const one of all) one.y = Math.round(one.y - top);
  return {
    size: [columns.at(-1)[0].left + width + GAPS.margin, all.reduce((most, one) => Math.max(most, one.y), 0) + height / 2 + GAPS.margin],
    boxes: all.filter((one) => one.box !== undefined).map((one) => [one.box, one.left + width / 2, one.y]),
    edges: edges.map(([tail, head], i) => [tail, head, (far[i] ? routeAbove : routeOf)(chains[i], width, shifts[i], GAPS.margin + GAPS.lane * track.get(tail))]),
  };
}

// Several edges between the same boxes run side by side.
function twinShifts(edges) {
  const total = new Map(), met = new Map();
  const key = ([tail, head]) => `${tail} ${head}`;
  for (const edge of edges) total.set(key(edge), (total.get(key(edge)) ?? 0) + 1);
  return edges.map((edge) => {
    const nth = met.get(key(edge)) ?? 0;
    met.set(key(edge), nth + 1);
    return 8 * (nth - (total.get(key(edge)) - 1) / 2);
  });
}

// Up to a height above the graph, along, and down again.
function routeAbove([tail, head], width, shift, height) {
  const [x0, x3] = [tail.left + width, head.left], [x1, x2] = [x0 + GAPS.layer, x3 - GAPS.layer];
  const bend = GAPS.layer / 2;
  return [x0, tail.y + shift, x0 + bend, tail.y + shift, x1 - bend, height, x1, height,
    x1, height, x2, height, x2, height, x2 + bend, height, x3 - bend, head.y + shift, x3, head.y + shift];
}

function routeOf(chain, width, shift) {
  const route = [chain[0].left + width, chain[0].y + shift];
  for (let i = 1; i < chain.length; i++) {
    const [x0, y0] = route.slice(-2), { left: x1 } = chain[i], y1 = chain[i].y + shift;
    const bend = (x1 - x0) / 2;
    route.push(x0 + bend, y0, x1 - bend, y1, x1, y1);
    if (i < chain.length - 1) route.push(x1 + width / 3, y1, x1 + (2 * width) / 3, y1, x1 + width, y1); // past a layer
  }
  return route;
}

// --- views that the page makes ------------------------------------------------------------------

const AROUND = 14; // steps that are shown around one that is looked for
const MOST_UNFOLDED = 5000; // nodes that "Unfold all" draws, in a second or a few

// The first view, in which the box of one node is cut so that the node, and its pass of a loop, are seen.
function viewAround(doc, node) {
  const rank = doc.order.indexOf(node);
  const boxes = [];
  for (const [box] of doc.views[0].boxes) {
    const { start, size } = doc.boxes[box];
    if (size > 1 && start <= rank && rank < start + size) boxes.push(...cut(doc, doc.boxes[box], rank));
    else boxes.push(box);
  }
  return addView(doc, boxes);
}

function cut(doc, whole, rank) {
  const { start, size, times } = whole;
  const length = size / times; // of one pass
  const aligned = times > 1 && Number.isInteger(length) && length <= AROUND;
  const first = aligned ? rank - ((rank - start) % length) : Math.max(start, rank - (AROUND >> 1));
  const last = Math.min(start + size, first + (aligned ? length * Math.max(1, Math.floor(AROUND / 2 / length)) : AROUND));
  const part = (from, to) => (to - from > 1 ? [partBox(doc, whole, from, to - from, aligned ? Math.round((to - from) / length) : 1)]
    : to > from ? [singleBox(doc, from)] : []);
  const singles = Array.from({ length: last - first }, (_, i) => singleBox(doc, first + i));
  return [...part(start, first), ...singles, ...part(last, start + size)];
}

// The box of a single node, by its place in the order; made if there is none.
function singleBox(doc, rank) {
  doc.singles ??= new Map(doc.boxes.flatMap(({ start, size }, box) => (size === 1 ? [[start, box]] : [])));
  if (!doc.singles.has(rank)) doc.singles.set(rank, doc.boxes.push({ start: rank, size: 1 }) - 1);
  return doc.singles.get(rank);
}

function partBox(doc, { title, name, kind }, start, size, times) {
  const steps = `${size.toLocaleString("en")} ${kind === "inputs" ? "inputs" : "steps"}`;
  const amount = times > 1 ? `×${times.toLocaleString("en")}, ${steps}` : steps;
  return doc.boxes.push({ start, size, title, name, kind, times, amount }) - 1;
}

function viewOfAll(doc) {
  return addView(doc, doc.order.map((_, rank) => singleBox(doc, rank)));
}

// Add a view to the document; a box in it is unfolded by cutting it at its end nearest the middle.
function addView(doc, boxes) {
  const owner = new Int32Array(doc.nodes.length);
  for (const box of boxes) for (const node of nodesIn(doc, doc.boxes[box])) owner[node] = box;
  boxes.sort((a, b) => doc.boxes[a].start - doc.boxes[b].start);
  const view = { ...layOut(doc, boxes, owner), unfold: {}, fold: [] };
  const folded = boxes.filter((box) => doc.boxes[box].size > 1);
  for (const box of folded) {
    const { start, size } = doc.boxes[box];
    const before = boxes.indexOf(box) > 0 && boxes.slice(0, boxes.indexOf(box)).some((other) => doc.boxes[other].size > 1);
    view.unfold[box] = doc.views[0].unfold[box] ?? (() => viewAround(doc, doc.order[before ? start : start + size - 1]));
  }
  return doc.views.push(view) - 1;
}

// A node that was in a box gets its formula and its local derivatives when it is drawn.
function complete(doc, model, i) {
  const node = doc.nodes[i];
  if (!node.op || (node.partials && node.text !== undefined)) return;
  const args = node.args.map((arg) => (Array.isArray(arg) ? decode(arg[0]) : model.values[arg]));
  const names = node.args.map((arg) => (Array.isArray(arg) ? short(decode(arg[0])) : doc.nodes[arg].name));
  node.text ??= (doc.rows[node.op]?.text || `${node.op}(${names.map((_, k) => `{${k}}`).join(", ")})`).replace(/\{(\d)\}/g, (_, k) => names[k]);
  node.slopes = {};
  for (const arg of node.args) if (!Array.isArray(arg)) doc.nodes[arg].named = true;
  const known = node.rule !== undefined && args.every((arg) => typeof arg === "number");
  node.args.forEach((arg, k) => {
    if (Array.isArray(arg)) return;
    if (known) model.partials[i][k] ??= slopeOf(doc, node, k, NUMBERS, model.values[i], args);
    node.slopes[k] = known && model.partials[i][k] !== null ? short(model.partials[i][k]) : `∂${node.name}/∂${names[k]}`;
  });
}
