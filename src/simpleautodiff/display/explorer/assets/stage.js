// The graph in its window: drawn, painted at a step, scrolled and enlarged, with a map of the whole.

const LARGEST = 1.45; // of the size in which texts are set: a graph is never drawn smaller than 1
const BESIDE_MAP = 50; // pixels of a box that the heat map of an array and the margins take

// `now()` is what the page shows: its numbers, how it is folded, its phase and step.
function stage(root, part, doc, now, write) {
  const { nameOf } = write;
  let zoom = 1, picture = null, painted = null;

  // The room for the graph if nothing is drawn: scroll bars and the map would take some of it.
  function measure() {
    part.map.hidden = true;
    resize(0);
    return { width: part.canvas.clientWidth, height: part.canvas.clientHeight };
  }

  function resize(scale) {
    if (!picture) return;
    picture.svg.style.width = `${Math.floor(picture.width * scale)}px`;
    picture.svg.style.height = `${Math.floor(picture.height * scale)}px`;
  }

  // How large the graph could be drawn if its layers run across, or down.
  function fitting(down, room) {
    const { width, height } = turned(doc, now().fold.view, down);
    const [wide, tall] = [room.width || width, room.height || height];
    return Math.min(LARGEST, wide / width, room.width < 620 ? LARGEST : tall / height);
  }

  function draw() {
    const { fold } = now();
    const { scrollLeft: left, scrollTop: top } = part.canvas;
    const room = measure();
    const [across, below] = [fitting(false, room), fitting(true, room)];
    const down = across < 1 && below > across;
    if (picture?.view !== fold.view || picture.down !== down) {
      picture = { ...drawing(doc, fold.view, down), view: fold.view, down };
      part.canvas.replaceChildren(picture.svg);
      map.show(picture);
    }
    resize(Math.max(1, down ? below : across) * zoom);
    part.canvas.scrollTo(left, top);
    map.follow();
  }

  function paint(moving = false) {
    const { steps, here, fold } = now();
    const phase = steps[here.phase];
    const current = phase.events[here.count - 1];
    const state = known(doc, phase, here.count);
    const mode = phase.id === "order" ? "" : doc.sweeps[phase.sweep]?.mode;
    root.dataset.phase = phase.id;
    const at = { phase, mode, state, rank: ranks(phase), now: current && (current.box ?? fold.owner[current.node]) };
    for (const [box, parts] of picture.nodes) {
      const record = doc.boxes[box];
      const i = doc.order[record.start + record.size - 1]; // of several, the last tells
      paintNode(box, i, parts, at);
    }
    paintEdges(painted = { phase, state, current });
    if (at.now !== undefined) reveal(picture.nodes.get(at.now)?.group);
    map.mark(at.now);
    halt(picture.svg);
    if (moving && current) travel(picture, (edge) => cargo(edge, current));
  }

  // The order that the search of a phase finds.
  function order(number) {
    const phase = now().single[number];
    const found = phase.events.filter((e) => e.kind === "place").map((e) => e.node);
    return doc.sweeps[phase.sweep].mode === "forward" ? found.reverse() : found;
  }

  // The number of each node in that order.
  function ranks(phase) {
    return new Map(phase.id !== "order" ? [] : order(now().here.phase).map((node, i) => [node, i + 1]));
  }

  function paintNode(box, i, { group, value, derivative, badge, picture: tiny }, { phase, mode, state, rank, now: present }) {
    const { model } = now();
    const several = doc.boxes[box].size > 1;
    const found = state.derivatives.get(i);
    const active = phase.id === "order" ? state.visited.has(i)
      : phase.id === "values" ? state.hasValue(i) : state.derivatives.has(i);
    group.classList.toggle("done", active);
    group.classList.toggle("current", present === box);
    group.classList.toggle("path", phase.id === "order" && state.path.includes(i));
    const seen = state.hasValue(i) && !(several && found !== undefined);
    const drawn = (number) => !several && hasElements(number); // as a map, which needs room
    value.textContent = !seen ? "" : `${several ? "→ " : ""}${brief(model.values[i], drawn(model.values[i]) ? 8 : several ? 9 : 11, !doc.nodes[i].op)}`;
    derivative.replaceChildren(...(found === undefined ? [] : drawn(found) || drawn(model.values[i]) ? nameSvg(fitName(nameOf(i), (doc.box[0] - BESIDE_MAP) / 0.75), mode)
      : equation(nameOf(i), mode, brief(found, 11))));
    badge.textContent = !several && phase.id === "order" && state.placed.has(i) ? rank.get(i) : "";
    paintHeat(tiny, ...[seen ? model.values[i] : undefined, found].map((number) => (drawn(number) ? number : undefined)));
    group.setAttribute("aria-label", spoken(box, i, found, state));
  }

  // A number as short as a box is wide; an input as it was typed, if there is room.
  function brief(number, most = 12, given = false) {
    if (typeof number !== "number" || !Number.isFinite(number)) return minus(clipped(short(number), most));
    const texts = [...(given ? [typed(number)] : []), short(number), short(number, 1)];
    return minus(texts.find((text, k) => text.length < (given && !k ? 10 : 9)) ?? scientific(number.toPrecision(4), 4));
  }

  // A derivative with its name; with the beginning of it, or alone, where the box is too small for more.
  function equation(name, mode, number) {
    const shown = [name, clipped(name, 2)].find((text) => 0.9 * nameWidth(text) + lineWidth(` = ${number}`) <= doc.box[0] - 8);
    return shown ? [...nameSvg(shown, mode), ` = ${number}`] : [number];
  }

  function spoken(box, i, found, state) {
    const record = doc.boxes[box], node = doc.nodes[i];
    if (record.size > 1) return `${write.aboutBox(record).join(", ")}, folded into one box`;
    const said = found === undefined ? "" : `, derivative ${numeral(found)}`;
    const own = node.variable ? `, ${node.variable}` : "";
    const value = state.hasValue(i) ? `, value ${numeral(now().model.values[i])}` : "";
    return `${node.name}${node.text ? ` = ${node.text}` : ", input"}${own}${value}${said}`;
  }

  function paintEdges({ phase, state, current }) {
    const { fold } = now();
    const back = phase.id === "reverse";
    const last = (box) => doc.order[doc.boxes[box].start + doc.boxes[box].size - 1];
    const has = phase.id === "values" ? (_, head) => state.hasValue(head)
      : phase.id === "order" ? (tail, head) => state.visited.has(tail) && state.visited.has(head)
        : (tail, head) => state.derivatives.has(tail) && state.derivatives.has(head);
    for (const edge of picture.edges) {
      const { tail, head, a, b, k, path, label } = edge;
      const lit = current !== undefined && (current.box === head ||
        (["value", "tangent"].includes(current.kind) && current.node === b) ||
        (current.kind === "accumulate" && current.child === b &&
          (current.k === k || (k === undefined && fold.owner[current.node] === tail))) ||
        (phase.id === "order" && b === current.node && state.path.includes(a)));
      edge.lit = lit;
      path.classList.toggle("lit", lit);
      path.classList.toggle("done", has(last(tail), last(head)));
      path.setAttribute(back ? "marker-start" : "marker-end", `url(#arrow${lit ? "-lit" : ""})`);
      path.removeAttribute(back ? "marker-end" : "marker-start");
      const say = lit && ["tangent", "accumulate"].includes(current.kind);
      label.textContent = say ? slopeOn(b, k) : "";
    }
  }

  // The local derivative that belongs to an edge between two nodes.
  function slopeOn(b, k) {
    const d = now().model.partials[b]?.[k];
    return k === undefined || d === undefined || typeof d === "object" ? "" : numeral(d);
  }

  // What goes along a lit edge: the number that leaves and the one that arrives, and which way.
  function cargo({ lit, a, b, k }, current) {
    if (!lit || a < 0 || b < 0 || k === undefined) return null;
    const { model, steps, here } = now();
    const d = model.partials[b]?.[k];
    if (current.kind === "value") return { leaves: model.values[a], arrives: model.values[a] };
    const leaves = current.kind === "tangent" ? model.sweeps[steps[here.phase].sweep].numbers[a]
      : current.kind === "accumulate" ? current.from : undefined;
    if (leaves === undefined) return null;
    const plain = typeof leaves === "number" && typeof d === "number";
    return { leaves, arrives: plain ? leaves * d : leaves, back: current.kind === "accumulate" };
  }

  // --- where one looks ------------------------------------------------------------------------

  // Keep the step in sight in a graph larger than its window, and leave the page where it is.
  function reveal(element) {
    if (!element) return;
    const [box, frame] = [element.getBoundingClientRect(), part.canvas.getBoundingClientRect()];
    const x = box.left < frame.left || box.right > frame.right;
    const y = box.top < frame.top || box.bottom > frame.bottom;
    if (x) part.canvas.scrollLeft += box.left - frame.left - frame.width / 2 + box.width / 2;
    if (y) part.canvas.scrollTop += box.top - frame.top - frame.height / 2 + box.height / 2;
  }

  function enlarge(factor) {
    zoom = factor ? Math.max(1, Math.min(8, zoom * factor)) : 1;
    draw();
    paint();
  }

  const map = overview(part);
  dragging(part.canvas);
  part.canvas.addEventListener("scroll", () => map.follow());
  part.canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    enlarge(event.deltaY < 0 ? 1.25 : 0.8);
  }, { passive: false });
  part.larger.addEventListener("click", () => enlarge(1.4));
  part.smaller.addEventListener("click", () => enlarge(1 / 1.4));
  part.fit.addEventListener("click", () => enlarge(0));

  return { draw, paint, order, enlarge, slopeOn, repaintEdges: () => paintEdges(painted),
    edges: () => picture.edges, group: (box) => picture.nodes.get(box)?.group, drawn: () => picture !== null };
}

// A graph that is larger than its window is moved by dragging, with a mouse or a pen; a finger
// scrolls by itself.
function dragging(canvas) {
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" || event.button !== 0) return;
    from = { x: event.clientX, y: event.clientY, left: canvas.scrollLeft, top: canvas.scrollTop, far: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    from.far ||= Math.hypot(dx, dy) > 5;
    if (!from.far) return;
    canvas.classList.add("held");
    canvas.scrollLeft = from.left - dx;
    canvas.scrollTop = from.top - dy;
  });
  const drop = () => {
    if (from?.far) canvas.addEventListener("click", (event) => event.stopPropagation(), { capture: true, once: true });
    setTimeout(() => canvas.classList.remove("held"));
    from = null;
  };
  canvas.addEventListener("pointerup", drop);
  canvas.addEventListener("pointerleave", () => (from = null, canvas.classList.remove("held")));
}

const MAP = [150, 64], NARROWEST = 24; // pixels; a graph that is very long or wide is drawn out of proportion

// A small map of a graph that is larger than its window: where one is, and where the step is.
function overview(part) {
  const { canvas, map } = part;
  let frame = null, boxes = new Map();

  function show({ width, height, nodes }) {
    const scale = Math.min(MAP[0] / width, MAP[1] / height);
    const [across, down] = [width, height].map((size) => Math.max(NARROWEST, scale * size));
    const svg = make("svg", { viewBox: `0 0 ${width.toFixed(0)} ${height.toFixed(0)}`, "aria-hidden": "true",
      width: across, height: down, preserveAspectRatio: "none" });
    boxes = new Map();
    for (const [box, { group }] of nodes) {
      const { x, y, width: w, height: h } = Object.fromEntries(
        ["x", "y", "width", "height"].map((key) => [key, group.querySelector("rect").getAttribute(key)]));
      boxes.set(box, make("rect", { x, y, width: w, height: h, class: "place" }));
    }
    frame = make("rect", { class: "frame" });
    svg.append(...boxes.values(), frame);
    map.replaceChildren(svg);
  }

  function follow() {
    const larger = canvas.scrollWidth > canvas.clientWidth + 1 || canvas.scrollHeight > canvas.clientHeight + 1;
    map.hidden = !larger;
    canvas.classList.toggle("larger", larger);
    if (!larger || !frame) return;
    const [w, h] = map.firstChild.getAttribute("viewBox").split(" ").slice(2).map(Number);
    const [x, y] = [w / canvas.scrollWidth, h / canvas.scrollHeight];
    const place = { x: canvas.scrollLeft * x, y: canvas.scrollTop * y, width: canvas.clientWidth * x, height: canvas.clientHeight * y };
    for (const [key, value] of Object.entries(place)) frame.setAttribute(key, value.toFixed(1));
  }

  function mark(now) {
    for (const [box, place] of boxes) place.classList.toggle("now", box === now);
  }

  // Pressing the map brings that place into the middle of the window.
  function bring(event) {
    if (!event.buttons) return;
    const box = map.firstChild.getBoundingClientRect();
    canvas.scrollLeft = ((event.clientX - box.left) / box.width) * canvas.scrollWidth - canvas.clientWidth / 2;
    canvas.scrollTop = ((event.clientY - box.top) / box.height) * canvas.scrollHeight - canvas.clientHeight / 2;
    event.preventDefault();
  }
  map.addEventListener("pointerdown", bring);
  map.addEventListener("pointermove", bring);
  return { show, follow, mark };
}
