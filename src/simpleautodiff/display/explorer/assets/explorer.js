// The explorer: graph, table and code of a program, linked, and played step by step.

const TITLES = { values: "Evaluation", order: "Order", forward: "Forward", reverse: "Reverse" };
const PIECES = new Set(["relu", "maximum", "minimum", "fmax", "fmin", "clip", "where"]);

function explorer(root, doc, options = {}) {
  let model = recorded(doc);
  let steps = phases(doc, model);
  let here = { phase: 0, count: steps[0].events.length };
  let chosen = { order: 1, forward: steps.findIndex((p) => p.id === "forward"),
    reverse: steps.findIndex((p) => p.id === "reverse") };
  let timer = 0;
  let picture = null;
  const inputs = {};
  const shown = new Set(doc.shown);
  const byName = new Map(doc.shown.map((i) => [doc.nodes[i].name, i]));
  const part = skeleton(root, doc);

  // --- text -----------------------------------------------------------------------------------

  const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const allNames = [...byName.keys()].sort((a, b) => b.length - a.length).map(escape).join("|");
  const tokens = new RegExp(`(?<![\\w.])([∂]?)(${allNames || "$^"})(?![\\w(])`, "g");

  // Text in which the names of nodes are set as names, each linked to its node.
  function math(text, mode) {
    const fragment = document.createDocumentFragment();
    let last = 0;
    for (const match of text.matchAll(tokens)) {
      fragment.append(text.slice(last, match.index) + match[1]);
      fragment.append(linked(match[2], mode));
      last = match.index + match[0].length;
    }
    fragment.append(text.slice(last));
    return fragment;
  }

  function linked(name, mode) {
    return make("span", { class: "n", "data-node": byName.get(name) ?? "" }, ...nameHtml(name, mode));
  }

  const nameOf = (i) => doc.nodes[i].name;
  const argument = (arg) => (Array.isArray(arg) ? decode(arg[0]) : model.values[arg]);
  const inside = (text, tight) => (text.startsWith("-") && tight ? `(${text})` : text);

  // The right-hand side of a node in numbers: "10.693 - (-0.959)".
  function numeric(node) {
    const form = doc.rows[node.op]?.text;
    const args = node.args.map(argument);
    if (!form || args.some((arg) => arg !== null && typeof arg === "object")) return "";
    const call = form.includes("(");
    return form.replace(/\{(\d)\}/g, (_, k) =>
      inside(short(args[k]), !call && (k > 0 || node.op === "neg" || node.op === "power")));
  }

  function slope(i, k) {
    const text = doc.nodes[i].slopes?.[k] ?? "";
    return model.moved && PIECES.has(doc.nodes[i].op) ? short(model.partials[i][k]) : text;
  }

  const full = (number) => number?.text ?? short(number);
  const grouped = (text) => (/[ ]|^-/.test(text) ? `(${text})` : text);

  // One row of the table for one step: name, symbols, numbers, result.
  function row(event, phase) {
    const mode = doc.sweeps[phase.sweep]?.mode;
    if (event.kind === "fold") {
      return { node: -1, name: ["⋯"], symbols: `${event.events.length.toLocaleString("en")} steps folded`,
        numbers: "", result: "" };
    }
    const node = doc.nodes[event.node];
    const base = { node: event.node, name: nameHtml(node.name, mode) };
    if (event.kind === "value") {
      const value = model.values[event.node];
      return { ...base, name: nameHtml(node.name), symbols: node.op ? math(node.text ?? "") : "",
        numbers: node.op ? numeric(node) : "", result: full(value) };
    }
    if (event.kind === "seed") return { ...base, symbols: "1, the seed", numbers: "", result: "1" };
    return event.kind === "tangent" ? tangentRow(event, base, phase) : adjointRow(event, base);
  }

  function tangentRow(event, base, phase) {
    const symbols = document.createDocumentFragment();
    const numbers = [];
    const found = model.sweeps[phase.sweep].numbers;
    doc.nodes[event.node].args.forEach((arg, k) => {
      const d = Array.isArray(arg) ? null : model.partials[event.node][k];
      if (d === null || d === undefined) return;
      if (numbers.length) symbols.append(" + ");
      const text = slope(event.node, k);
      symbols.append(linked(nameOf(arg), "forward"), " × ", math(grouped(text)));
      numbers.push(product(found[arg] ?? 0, d));
    });
    const plain = numbers.every(Boolean) ? numbers.join(" + ") : "";
    return { ...base, symbols: numbers.length ? symbols : "0", numbers: plain,
      result: full(event.number) };
  }

  function adjointRow(event, base) {
    const symbols = document.createDocumentFragment();
    if (!event.first) symbols.append(linked(nameOf(event.node), "reverse"), " + ");
    symbols.append(linked(nameOf(event.child), "reverse"), " × ",
      math(grouped(slope(event.child, event.k))));
    const before = event.first ? "" : `${short(event.before)} + `;
    const term = product(event.from, model.partials[event.child][event.k]);
    return { ...base, symbols, numbers: term && `${before}${term}`, result: full(event.number) };
  }

  function product(a, b) {
    if (typeof a === "object" || typeof b === "object") return "";
    return `${short(a)} × ${inside(short(b), true)}`;
  }

  // Each accumulation also says what the sums were before it.
  function withSums(events, root) {
    const bar = new Map([[root, 1]]);
    for (const event of flat(events)) {
      if (event.kind !== "accumulate") continue;
      event.from = bar.get(event.child);
      event.before = bar.get(event.node);
      bar.set(event.node, event.number);
    }
  }

  // --- drawing --------------------------------------------------------------------------------

  function draw() {
    const down = part.canvas.clientWidth < 620;
    if (!picture || picture.down !== down) {
      picture = { ...drawing(doc, down), down };
      part.canvas.replaceChildren(picture.svg);
    }
    const room = part.canvas.clientWidth || picture.width;
    const tall = part.canvas.clientHeight || picture.height;
    const scale = Math.max(0.72, Math.min(1.45, room / picture.width, down ? 9 : tall / picture.height));
    picture.svg.style.width = `${Math.floor(picture.width * scale)}px`;
    picture.svg.style.height = `${Math.floor(picture.height * scale)}px`;
  }

  function paint() {
    const phase = steps[here.phase];
    const mode = phase.id === "order" ? "" : doc.sweeps[phase.sweep]?.mode;
    const state = known(doc, phase, here.count);
    const current = phase.events[here.count - 1];
    root.dataset.phase = phase.id;
    const rank = new Map(places(phase).map((node, i) => [node, i + 1]));
    for (const [i, parts] of picture.nodes) paintNode(i, parts, { phase, mode, state, current, rank });
    paintEdges(phase, state, current);
    if (current) reveal(picture.nodes.get(current.node)?.group);
  }

  function places(phase) {
    const placed = flat(phase.events).filter((e) => e.kind === "place");
    const order = placed.map((event) => event.node);
    return doc.sweeps[phase.sweep]?.mode === "forward" ? order.reverse() : order;
  }

  function paintNode(i, { group, value, derivative, badge }, { phase, mode, state, current, rank }) {
    const hidden = i < 0 ? doc.folded[doc.folded.length - 1] : i;
    const has = state.values.has(hidden);
    const found = state.derivatives.get(i);
    const active = phase.id === "order" ? state.visited.has(hidden)
      : phase.id === "values" ? has : state.derivatives.has(hidden);
    group.classList.toggle("done", active);
    group.classList.toggle("current", current?.node === i);
    group.classList.toggle("path", phase.id === "order" && state.path.includes(i));
    if (i < 0) {
      group.setAttribute("aria-label", `${doc.folded.length} nodes, folded into one box`);
      return;
    }
    value.textContent = has ? short(model.values[i]) : "";
    derivative.replaceChildren(...(found === undefined ? []
      : [...nameSvg(nameOf(i), mode), ` = ${short(found)}`]));
    badge.textContent = phase.id === "order" && state.placed.has(i) ? rank.get(i) : "";
    const said = found === undefined ? "" : `, derivative ${short(found)}`;
    const node = doc.nodes[i];
    group.setAttribute("aria-label",
      `${node.name}${node.text ? ` = ${node.text}` : ", input"}, value ${short(model.values[i])}${said}`);
  }

  function paintEdges(phase, state, current) {
    for (const [key, { path, label }] of picture.edges) {
      const [a, b] = key.split(" ").map(Number);
      const uses = (doc.nodes[b]?.args ?? []).flatMap((arg, k) => (arg === a ? [k] : []));
      const now =
        (["value", "tangent"].includes(current?.kind) && current.node === b) ||
        (current?.kind === "accumulate" && current.node === a && current.child === b) ||
        (phase.id === "order" && b === current?.node && state.path.includes(a));
      const done =
        phase.id === "values" ? b < 0 || state.values.has(b)
          : phase.id === "order" ? state.visited.has(a) && state.visited.has(b)
            : state.derivatives.has(a) && state.derivatives.has(b);
      path.classList.toggle("lit", now);
      path.classList.toggle("done", done);
      const back = phase.id === "reverse";
      path.setAttribute(back ? "marker-start" : "marker-end", `url(#arrow${now ? "-lit" : ""})`);
      path.removeAttribute(back ? "marker-end" : "marker-start");
      const slopes = uses.map((k) => model.partials[b]?.[k]).filter((d) => d !== undefined);
      const say = now && ["tangent", "accumulate"].includes(current.kind);
      label.textContent = say ? slopes.map((d) => short(d)).join(", ") : "";
    }
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

  // --- table ----------------------------------------------------------------------------------

  function table(phase, count) {
    const lines = phase.id === "order" ? orderRows(phase)
      : phase.events.map((event) => rowCells(row(event, phase)));
    const body = phase.events.map((event, i) => {
      const state = i === count - 1 ? "current" : i < count ? "" : "later";
      return make("tr", { class: state, "data-node": event.node, "data-step": i + 1 }, ...lines[i]);
    });
    const heads = phase.id === "order" ? ["", "Step", "Path", "Order so far"]
      : ["", "In symbols", "In numbers", "Result"];
    const bare = phase.id !== "order" && lines.some((line) => line[3].classList.contains("array"));
    return make("table", { class: bare ? "bare" : "" },
      make("thead", {}, make("tr", {}, ...heads.map((h) => make("th", { scope: "col" }, h)))),
      make("tbody", {}, ...body));
  }

  function rowCells({ name, symbols, numbers, result }) {
    return [make("th", { scope: "row" }, ...name), make("td", {}, symbols), make("td", {}, ...(numbers ? [numbers] : [])),
      make("td", { class: result.includes(": ") ? "result array" : "result" }, result)];
  }

  // The path and the order after each step of a search; of a large graph, what is drawn of them.
  function orderRows(phase) {
    const down = doc.sweeps[phase.sweep].mode === "forward";
    const list = (nodes) => {
      const few = nodes.filter((node) => shown.has(node)).slice(-12);
      return few.flatMap((node, j) => [j ? " " : "", linked(nameOf(node))]);
    };
    const path = [], order = [];
    return phase.events.map((event) => {
      for (const each of event.events ?? [event]) {
        if (down) walk(path, each);
        if (each.kind === "place" && shown.has(each.node)) down ? order.unshift(each.node) : order.push(each.node);
      }
      if (event.kind === "fold") return rowCells(row(event, phase));
      return [make("th", { scope: "row" }, ...nameHtml(nameOf(event.node))),
        make("td", {}, event.kind), make("td", {}, ...list(path)),
        make("td", { class: "result order" }, ...list(order))];
    });
  }

  // --- the whole ------------------------------------------------------------------------------

  function sentence(event, phase) {
    if (!event) return [`${TITLES[phase.id]}: press the right arrow key to take the first step.`];
    if (event.kind === "visit") return ["Visit ", linked(nameOf(event.node)), "."];
    if (event.kind === "place") {
      return [linked(nameOf(event.node)), doc.sweeps[phase.sweep].mode === "forward"
        ? " has no child left to visit: it goes to the front of the order."
        : " follows its parents: it is next in the order, which is read from its end."];
    }
    const { name, symbols, numbers, result } = row(event, phase);
    const cells = [symbols, numbers, result].filter((cell) => cell && cell !== "");
    const seen = event.kind === "seed" ? [symbols] : cells;
    return [...name, ...seen.flatMap((cell) => [" = ", cell])];
  }

  function render() {
    const phase = steps[here.phase];
    if (phase.id === "reverse") withSums(phase.events, doc.sweeps[phase.sweep].root);
    draw();
    paint();
    const current = phase.events[here.count - 1];
    part.table.replaceChildren(table(phase, here.count));
    const row_ = part.table.querySelector("tr.current");
    if (row_) part.table.scrollTop = row_.offsetTop - part.table.clientHeight / 2;
    part.formula.replaceChildren(...sentence(current, phase));
    part.live.textContent = part.formula.textContent;
    part.why.textContent = reason(current, phase);
    part.range.max = phase.events.length;
    part.range.value = here.count;
    part.count.textContent = `${here.count} / ${phase.events.length}`;
    for (const tab of part.tabs.children) {
      const on = tab.dataset.phase === phase.id;
      tab.setAttribute("aria-selected", on);
      tab.tabIndex = on ? 0 : -1;
    }
    chooser(phase);
    light(current && current.node >= 0 ? [current.node] : [], "now");
  }

  function reason(event, phase) {
    const i = event?.kind === "accumulate" ? event.child : event?.node;
    const node = doc.nodes[i];
    if (!event || phase.id === "order") {
      return phase.id === "order" ? orderReason(phase) : "";
    }
    if (!node?.op) return "";
    const text = doc.rows[node.op]?.reason ?? "";
    return text ? `${node.op}: ${text}.` : "";
  }

  function orderReason(phase) {
    return doc.sweeps[phase.sweep].mode === "forward"
      ? "A depth-first search: a node is placed when all that depends on it has been placed."
      : "What the output depends on is found by walking up to the parents.";
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
    timer = start ? setInterval(() => on() || play(false), 1100) : 0;
    part.play.replaceChildren(icon(timer ? "pause" : "play"));
    part.play.setAttribute("aria-label", timer ? "Pause" : "Play");
  }

  function move(i, value) {
    inputs[i] = value;
    if (!doc.live) return options.ask?.(inputs);
    model = computed(doc, inputs);
    steps = phases(doc, model);
    go(here.count);
  }

  // Light up everything that belongs to some nodes: boxes, rows, names, source lines.
  function light(nodes, mark = "lit-node") {
    for (const element of root.querySelectorAll(`.${mark}`)) element.classList.remove(mark);
    for (const i of nodes) {
      for (const element of root.querySelectorAll(`[data-node="${i}"]`)) element.classList.add(mark);
      for (const element of part.code.querySelectorAll("[data-nodes]")) {
        if (element.dataset.nodes.split(" ").includes(String(i))) element.classList.add(mark);
      }
    }
  }

  function nodesOf(target) {
    const element = target.closest?.("[data-node],[data-nodes]");
    const text = element?.dataset.node ?? element?.dataset.nodes ?? "";
    return text === "" ? [] : text.split(" ").map(Number);
  }

  // --- events ---------------------------------------------------------------------------------

  root.addEventListener("pointerover", (event) => light(nodesOf(event.target)));
  root.addEventListener("pointerleave", () => light([]));
  root.addEventListener("focusin", (event) => light(nodesOf(event.target)));
  root.addEventListener("focusout", () => light([]));
  part.table.addEventListener("click", (event) => {
    const line = event.target.closest("[data-step]");
    if (line) go(Number(line.dataset.step));
  });
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
  root.addEventListener("keydown", (event) => {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target !== part.range) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const button = event.target.tagName === "BUTTON";
    const action = { ArrowRight: on, ArrowLeft: back, Home: () => go(0), End: () => go(Infinity),
      " ": button ? null : () => play() }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  window.addEventListener("resize", () => picture && (draw(), paint()));
  window.addEventListener("beforeprint", () => {
    part.print.replaceChildren(...sequence().flatMap((i) => {
      if (steps[i].id === "reverse") withSums(steps[i].events, doc.sweeps[steps[i].sweep].root);
      return [make("h2", {}, TITLES[steps[i].id]), table(steps[i], Infinity)];
    }));
  });

  sliders(part, doc, options, move, () => {
    for (const key of Object.keys(inputs)) delete inputs[key];
    model = recorded(doc);
    steps = phases(doc, model);
    go(here.count);
  });
  sourceLines(part.code, doc);
  part.title.append(math(doc.title));
  for (const id of ["values", "order", "forward", "reverse"]) {
    if (id === "values" || chosen[id] >= 0) {
      part.tabs.append(make("button", { role: "tab", "data-phase": id, type: "button" }, TITLES[id]));
    }
  }
  render();
  return { go, on, back, play, state: () => ({ ...here, id: steps[here.phase].id, model, steps }) };
}
