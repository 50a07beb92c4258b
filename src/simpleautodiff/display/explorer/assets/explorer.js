// The explorer: graph, table and code of a program, linked, and played step by step.

function explorer(root, doc, options = {}) {
  let model = recorded(doc);
  let fold = folding(doc, 0);
  let single = phases(doc, model); // every step by itself
  let steps = single.map((phase) => collapsed(phase, fold)); // as they are taken
  let here = { phase: 0, count: steps[0].events.length };
  const first = (id) => steps.findIndex((phase) => phase.id === id);
  const chosen = { order: first("order"), forward: first("forward"), reverse: first("reverse") };
  let timer = 0, zoom = 1, picture = null, painted = null;
  const inputs = {};
  const part = skeleton(root, doc);
  const write = writer(doc, () => ({ model, fold }));
  const { nameOf } = write;
  const stops = stopField(part.stop, doc, () => model, run);
  const lineOf = new Map(doc.code.flatMap((line, j) => line.nodes.map((i) => [i, j])));

  // --- drawing --------------------------------------------------------------------------------

  // How large the graph can be drawn if its layers run across, or down.
  function fitting(down) {
    const { width, height } = turned(doc, fold.view, down);
    const room = part.canvas.clientWidth || width, tall = part.canvas.clientHeight || height;
    return Math.min(1.45, room / width, part.canvas.clientWidth < 620 ? 9 : tall / height);
  }

  function draw() {
    const down = fitting(false) < 0.7 && fitting(true) > fitting(false);
    if (picture?.view !== fold.view || picture.down !== down) {
      picture = { ...drawing(doc, fold.view, down), view: fold.view, down };
      part.canvas.replaceChildren(picture.svg);
    }
    const scale = fitting(down) * zoom;
    picture.svg.style.width = `${Math.floor(picture.width * scale)}px`;
    picture.svg.style.height = `${Math.floor(picture.height * scale)}px`;
  }

  function paint() {
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
  }

  // The number of each node in the order that a search finds.
  function ranks(phase) {
    if (phase.id !== "order") return new Map();
    const order = single[here.phase].events.filter((e) => e.kind === "place").map((e) => e.node);
    if (doc.sweeps[phase.sweep].mode === "forward") order.reverse();
    return new Map(order.map((node, i) => [node, i + 1]));
  }

  function paintNode(box, i, { group, value, derivative, badge }, { phase, mode, state, rank, now }) {
    const several = doc.boxes[box].size > 1;
    const found = state.derivatives.get(i);
    const active = phase.id === "order" ? state.visited.has(i)
      : phase.id === "values" ? state.hasValue(i) : state.derivatives.has(i);
    group.classList.toggle("done", active);
    group.classList.toggle("current", now === box);
    group.classList.toggle("path", phase.id === "order" && state.path.includes(i));
    const seen = state.hasValue(i) && !(several && found !== undefined);
    value.textContent = !seen ? "" : `${several ? "→ " : ""}${short(model.values[i])}`;
    derivative.replaceChildren(...(found === undefined ? []
      : equation(nameOf(i), mode, short(found))));
    badge.textContent = !several && phase.id === "order" && state.placed.has(i) ? rank.get(i) : "";
    group.setAttribute("aria-label", spoken(box, i, found));
  }

  // A derivative with its name; with its letter alone, where the box is too small for more.
  function equation(name, mode, number) {
    return [...nameSvg(name.length + number.length > 13 ? name.slice(0, 1) : name, mode), ` = ${number}`];
  }

  function spoken(box, i, found) {
    const record = doc.boxes[box], node = doc.nodes[i];
    if (record.size > 1) return `${write.aboutBox(record).join(", ")}, folded into one box`;
    const said = found === undefined ? "" : `, derivative ${short(found)}`;
    const own = node.variable ? `, ${node.variable}` : "";
    return `${node.name}${node.text ? ` = ${node.text}` : ", input"}${own}, value ${short(model.values[i])}${said}`;
  }

  function paintEdges({ phase, state, current }) {
    const back = phase.id === "reverse";
    const last = (box) => doc.order[doc.boxes[box].start + doc.boxes[box].size - 1];
    const has = phase.id === "values" ? (_, head) => state.hasValue(head)
      : phase.id === "order" ? (tail, head) => state.visited.has(tail) && state.visited.has(head)
        : (tail, head) => state.derivatives.has(tail) && state.derivatives.has(head);
    for (const { tail, head, a, b, k, path, label } of picture.edges) {
      const now = current !== undefined && (current.box === head ||
        (["value", "tangent"].includes(current.kind) && current.node === b) ||
        (current.kind === "accumulate" && current.child === b &&
          (current.k === k || (k === undefined && fold.owner[current.node] === tail))) ||
        (phase.id === "order" && b === current.node && state.path.includes(a)));
      path.classList.toggle("lit", now);
      path.classList.toggle("done", has(last(tail), last(head)));
      path.setAttribute(back ? "marker-start" : "marker-end", `url(#arrow${now ? "-lit" : ""})`);
      path.removeAttribute(back ? "marker-end" : "marker-start");
      const say = now && ["tangent", "accumulate"].includes(current.kind);
      label.textContent = say ? slopeOn(b, k) : "";
    }
  }

  // The local derivative that belongs to an edge between two nodes.
  function slopeOn(b, k) {
    const d = model.partials[b]?.[k];
    return k === undefined || d === undefined || typeof d === "object" ? "" : short(d);
  }

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

  // --- folding --------------------------------------------------------------------------------

  // Show another view, at the same single step.
  function open(number) {
    const done = steps.map((phase, i) => (i === here.phase ? singleSteps(phase, here.count) : 0));
    const focused = root.ownerDocument.activeElement?.closest?.("g.node")?.dataset.box;
    fold = folding(doc, number);
    steps = single.map((phase) => collapsed(phase, fold));
    folds();
    go(stepsFor(steps[here.phase], done[here.phase]));
    if (focused !== undefined) refocus(doc.boxes[focused]);
  }

  // After folding or unfolding, the box with the same first node has the focus.
  function refocus({ start }) {
    picture.nodes.get(fold.owner[doc.order[start]])?.group.focus({ preventScroll: true });
  }

  function unfold(box) {
    if (box in fold.view.unfold) open(fold.view.unfold[box]);
  }

  // Fold the innermost box that a node stands in.
  function foldAround(i) {
    const rank = doc.order.indexOf(i);
    const around = fold.view.fold.filter(([box]) => {
      const { start, size } = doc.boxes[box];
      return start <= rank && rank < start + size;
    });
    around.sort(([a], [b]) => doc.boxes[a].size - doc.boxes[b].size);
    if (around.length) open(around[0][1]);
  }

  // What is unfolded, each to be folded again.
  function folds() {
    part.folds.hidden = doc.views.length < 2;
    const whole = doc.views.findIndex((view) => !view.boxes.some(([box]) => doc.boxes[box].size > 1));
    const button = (label, attributes, ...text) =>
      make("button", { type: "button", class: "chip", title: label, ...attributes }, ...text);
    const chips = fold.view.fold.map(([box, to]) => button(`Fold ${doc.boxes[box].title}`,
      { "data-view": to, "data-box": box }, make("span", { "aria-hidden": "true" }, "⊟ "), clipped(doc.boxes[box].title.split("\n")[0], 28),
      doc.boxes[box].times > 1 ? ` ×${doc.boxes[box].times.toLocaleString("en")}` : ""));
    const all = whole > 0 && whole !== fold.number ? [button("Unfold every box", { "data-view": whole }, "Unfold all")] : [];
    const none = fold.number ? [button("Fold every box", { "data-view": 0 }, "Fold all")] : [];
    part.folds.replaceChildren(note(doc, fold), ...chips, ...all, ...none);
  }

  // --- the whole ------------------------------------------------------------------------------

  function render() {
    const phase = steps[here.phase];
    draw();
    paint();
    const current = phase.events[here.count - 1];
    rows(here.count);
    part.formula.replaceChildren(...write.sentence(current, phase));
    part.live.textContent = part.formula.textContent;
    part.why.textContent = write.reason(current, phase);
    part.range.max = phase.events.length;
    part.range.value = here.count;
    part.count.textContent = `${here.count} / ${phase.events.length}`;
    for (const tab of part.tabs.children) {
      const on_ = tab.dataset.phase === phase.id;
      tab.setAttribute("aria-selected", on_);
      tab.tabIndex = on_ ? 0 : -1;
    }
    chooser(phase);
    light(!current ? [] : current.events ? current.events.map((event) => event.by) : [current.node], "now");
  }

  function rows(middle) {
    part.table.replaceChildren(write.table(steps[here.phase], here.count, middle));
    const line = middle === here.count && part.table.querySelector("tr.current");
    if (line) part.table.scrollTop = line.offsetTop - part.table.clientHeight / 2;
  }

  function chooser(phase) {
    const options_ = steps.map((p, i) => [p, i]).filter(([p]) => p.id === phase.id);
    part.choose.hidden = options_.length < 2;
    part.choose.replaceChildren(...options_.map(([p, i]) => {
      const sweep = doc.sweeps[p.sweep];
      const of = nameOf(sweep?.root ?? 0);
      const label = phase.id === "forward" ? `with respect to ${of}`
        : phase.id === "reverse" ? `of ${of}` : `${sweep?.mode === "forward" ? "down" : "up"} from ${of}`;
      return make("option", { value: i, selected: i === here.phase }, label);
    }));
  }

  function go(count, phase = here.phase) {
    here = { phase, count: Math.max(0, Math.min(count, steps[phase].events.length)) };
    if (steps[phase].id !== "values") chosen[steps[phase].id] = phase;
    render();
  }

  const sequence = () => [0, chosen.order, chosen.forward, chosen.reverse].filter((i) => i >= 0 && steps[i]);

  // One step on; after the last of a phase, on to the next phase.
  function on() {
    if (here.count < steps[here.phase].events.length) return go(here.count + 1), true;
    const next = sequence()[sequence().indexOf(here.phase) + 1];
    if (next === undefined) return false;
    go(0, next);
    return true;
  }

  function back() {
    if (here.count > 0) return go(here.count - 1);
    const before = sequence()[sequence().indexOf(here.phase) - 1];
    if (before !== undefined) go(steps[before].events.length, before);
  }

  function play(start = !timer) {
    clearInterval(timer);
    timer = start ? setInterval(() => (on() && !stops(steps[here.phase].events[here.count - 1])) || play(false), 1100) : 0;
    part.play.replaceChildren(icon(timer ? "pause" : "play"));
    part.play.setAttribute("aria-label", timer ? "Pause" : "Play");
  }

  function run() {
    const { phase, count } = ranOn(steps, sequence(), here, stops);
    go(count, phase);
  }

  function calculate(found) {
    model = found;
    single = phases(doc, model);
    steps = single.map((phase) => collapsed(phase, fold));
    go(here.count);
  }

  function move(i, value) {
    inputs[i] = value;
    if (!doc.live) return options.ask?.(inputs);
    calculate(computed(doc, inputs));
  }

  // --- links ----------------------------------------------------------------------------------

  // Light up everything that belongs to some nodes: boxes, rows, names, source lines.
  function light(nodes, mark = "lit-node") {
    const set = new Set(nodes);
    const boxes = new Set(nodes.map((i) => fold.owner[i]));
    const lines = new Set(nodes.map((i) => lineOf.get(i)));
    for (const element of root.querySelectorAll("[data-node],[data-box],[data-line]")) {
      const { node, box, line } = element.dataset;
      element.classList.toggle(mark, node !== undefined ? node !== "" && set.has(Number(node))
        : box !== undefined ? boxes.has(Number(box)) : lines.has(Number(line)));
    }
  }

  function nodesOf(target) {
    const { node, box, line } = target.closest?.("[data-node],[data-box],[data-line]")?.dataset ?? {};
    if (node !== undefined) return node === "" ? [] : [Number(node)];
    if (box !== undefined) return nodesIn(doc, doc.boxes[box]);
    return line === undefined ? [] : doc.code[line].nodes;
  }

  // Light up what is pointed at; of a box in the graph, also say what is known of it.
  function point(target) {
    light(nodesOf(target));
    const group = target.closest?.("g.node");
    const box = group?.dataset.box, node = group?.dataset.node;
    part.tip.hidden = !group;
    for (const { a, b, k, label } of picture.edges) {
      const near = node !== undefined && [a, b].includes(Number(node));
      if (near || label.classList.contains("near")) label.textContent = near ? slopeOn(b, k) : "";
      label.classList.toggle("near", near);
    }
    if (!group) return;
    const said = node === undefined ? write.aboutBox(doc.boxes[box]) : write.about(Number(node));
    part.tip.replaceChildren(...said.map((text) => make("span", {}, write.math(text))));
  }

  function leave() {
    point(root);
    paintEdges(painted);
  }

  // --- events ---------------------------------------------------------------------------------

  root.addEventListener("pointerover", (event) => (leave(), point(event.target)));
  root.addEventListener("pointerleave", leave);
  root.addEventListener("focusin", (event) => point(event.target));
  root.addEventListener("focusout", leave);
  part.table.addEventListener("click", (event) => {
    const middle = event.target.closest("[data-more]")?.dataset.more;
    const line = event.target.closest("[data-step]");
    if (middle !== undefined) rows(Number(middle));
    else if (line) go(Number(line.dataset.step));
  });
  part.canvas.addEventListener("click", (event) => {
    const box = event.target.closest("g.able")?.dataset.box;
    if (box !== undefined) unfold(Number(box));
  });
  part.canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    enlarge(event.deltaY < 0 ? 1.25 : 0.8);
  }, { passive: false });
  part.folds.addEventListener("click", (event) => {
    const to = event.target.closest("[data-view]")?.dataset.view;
    if (to !== undefined) open(Number(to));
  });
  part.larger.addEventListener("click", () => enlarge(1.4));
  part.smaller.addEventListener("click", () => enlarge(1 / 1.4));
  part.fit.addEventListener("click", () => enlarge(0));
  part.start.addEventListener("click", () => go(0));
  part.back.addEventListener("click", back);
  part.play.addEventListener("click", () => play());
  part.next.addEventListener("click", on);
  part.end.addEventListener("click", () => go(Infinity));
  part.range.addEventListener("input", () => go(Number(part.range.value)));
  part.choose.addEventListener("change", () => go(0, Number(part.choose.value)));
  part.tabs.addEventListener("click", (event) => {
    const id = event.target.closest("[data-phase]")?.dataset.phase;
    if (id) go(id === "values" ? Infinity : 0, id === "values" ? 0 : chosen[id]);
  });
  part.theme.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // A box that has the focus is unfolded by Enter, and folded again by Backspace.
  function boxKeys(event) {
    const box = event.target.closest?.("g.node")?.dataset.box;
    if (box === undefined) return {};
    return { Enter: () => unfold(Number(box)), Backspace: () => foldAround(doc.order[doc.boxes[box].start]) };
  }

  root.addEventListener("keydown", (event) => {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target !== part.range) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const button = event.target.tagName === "BUTTON";
    const action = { ArrowRight: on, ArrowLeft: back, Home: () => go(0), End: () => go(Infinity),
      c: run, " ": button ? null : () => play(), "+": () => enlarge(1.4), "-": () => enlarge(1 / 1.4),
      0: () => enlarge(0), ...boxKeys(event) }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  window.addEventListener("resize", () => picture && (draw(), paint()));
  window.addEventListener("beforeprint", () => {
    part.print.replaceChildren(...sequence().flatMap((i) =>
      [make("h2", {}, TITLES[steps[i].id]), write.table(steps[i], Infinity, 0, 1000)]));
  });

  sliders(part, doc, options, move, () => {
    for (const key of Object.keys(inputs)) delete inputs[key];
    calculate(recorded(doc));
  });
  sourceLines(part.code, doc);
  part.title.append(write.math(doc.title));
  for (const id of ["values", "order", "forward", "reverse"]) {
    if (id === "values" || chosen[id] >= 0) {
      part.tabs.append(make("button", { role: "tab", "data-phase": id, type: "button" }, TITLES[id]));
    }
  }
  folds();
  render();
  return { go, on, back, play, open, state: () => ({ ...here, id: steps[here.phase].id, model, steps, view: fold.number }) };
}
