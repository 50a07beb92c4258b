// The explorer: graph, table and code of a program, linked, and played step by step.

const PACE = 1100; // milliseconds from step to step, at the usual speed
const OTHER_BRANCH = "There the function takes another branch, which is not part of this page.";

function explorer(root, doc, options = {}) {
  let model = recorded(doc);
  let fold = folding(doc, 0);
  let single = phases(doc, model); // every step by itself
  let steps = single.map((phase) => collapsed(phase, fold)); // as they are taken
  let here = { phase: 0, count: 0 };
  const first = (id) => steps.findIndex((phase) => phase.id === id);
  const chosen = { values: 0, order: first("order"), forward: first("forward"), reverse: first("reverse") };
  const left = new Map(); // how many single steps had been taken in a phase when it was left
  const inputs = {};
  // At another point; null where the function takes another branch.
  const compute = !doc.kernel ? (doc.live ? computed : null) : doc.live ? computedOnBranch : computedByKernel;
  const original = Object.fromEntries(doc.inputs.map((i) => [i, isArray(doc.nodes[i].value) ? {} : doc.nodes[i].value]));
  let timer = 0, restoring = false;
  const part = skeleton(root, doc);
  const longest = Math.max(...doc.nodes.map(({ name }) => name.length));
  root.style.setProperty("--name", `${10 * Math.min(longest, 12)}px`);
  const now = () => ({ model, fold, steps, single, here });
  const write = writer(doc, now);
  const graph = stage(root, part, doc, now, write);
  const light = links(root, part, doc, now, write, graph);
  const { nameOf } = write;
  const stops = stopField(part.stop, doc, () => model, run);
  const asking = predictor(part, doc, now, write, on);

  // --- folding --------------------------------------------------------------------------------

  // Show another view, at the same single step.
  function open(number) {
    const done = singleSteps(steps[here.phase], here.count);
    const focused = root.ownerDocument.activeElement?.closest?.("g.node")?.dataset.box;
    fold = folding(doc, number);
    completeView();
    Object.assign(write, writer(doc, now));
    steps = single.map((phase) => collapsed(phase, fold));
    folds();
    go(stepsFor(steps[here.phase], done));
    if (focused !== undefined) refocus(doc.boxes[focused]);
  }

  function completeView() {
    for (const [box] of fold.view.boxes) if (doc.boxes[box].size === 1) complete(doc, model, doc.order[doc.boxes[box].start]);
  }

  // After folding or unfolding, the box with the same first node has the focus.
  function refocus({ start }) {
    graph.group(fold.owner[doc.order[start]])?.focus({ preventScroll: true });
  }

  const followed = (way) => (typeof way === "function" ? way() : way);

  function unfold(box) {
    if (box in fold.view.unfold) open(followed(fold.view.unfold[box]));
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
    else if (fold.number) open(0);
  }

  // Unfold what a node stands in, until it is a box of its own.
  function uncover(i) {
    while (!fold.single(i)) {
      const to = fold.view.unfold[fold.owner[i]];
      const next = typeof to === "number" ? folding(doc, to) : null;
      const nearer = next && doc.boxes[next.owner[i]].size < doc.boxes[fold.owner[i]].size / 2;
      if (!nearer) return open(viewAround(doc, i));
      open(to);
    }
  }

  // Go to a node: to its own step in this phase, if it has one, and into sight.
  function visit(i) {
    uncover(i);
    const step = steps[here.phase].events.findIndex((event) => event.node === i);
    if (step >= 0) go(step + 1);
    graph.group(fold.owner[i])?.focus({ preventScroll: true });
    light([i]);
  }

  // What is unfolded, each to be folded again.
  function folds() {
    const foldable = doc.views[0].boxes.some(([box]) => doc.boxes[box].size > 1);
    part.folds.hidden = !foldable;
    const whole = doc.views.findIndex((view) => !view.boxes.some(([box]) => doc.boxes[box].size > 1));
    const button = (label, attributes, ...text) =>
      make("button", { type: "button", class: "chip", title: label, ...attributes }, ...text);
    const chips = fold.view.fold.map(([box, to]) => button(`Fold ${doc.boxes[box].title}`,
      { "data-view": to, "data-box": box }, make("span", { "aria-hidden": "true" }, "⊟ "), clipped(doc.boxes[box].name || doc.boxes[box].title.split("\n")[0], 28),
      doc.boxes[box].times > 1 ? ` ×${doc.boxes[box].times.toLocaleString("en")}` : ""));
    const can = foldable && whole !== fold.number && doc.nodes.length <= MOST_UNFOLDED;
    const all = can ? [button("Unfold every box", { "data-view": whole > 0 ? whole : "all" }, "Unfold all")] : [];
    const none = fold.number ? [button("Fold every box", { "data-view": 0 }, "Fold all")] : [];
    part.folds.replaceChildren(note(doc, fold), ...all, ...none, ...chips);
  }

  // --- the whole ------------------------------------------------------------------------------

  function render(moving = false) {
    const phase = steps[here.phase];
    graph.draw();
    graph.paint(moving);
    const current = phase.events[here.count - 1];
    part.formula.replaceChildren(...write.sentence(current, phase));
    part.live.textContent = part.formula.textContent;
    const odd = explainNan(doc, model, current, phase.sweep, write.numeric);
    part.why.replaceChildren(withPowers(odd || write.reason(current, phase)));
    part.why.classList.toggle("odd", odd !== "");
    part.range.max = phase.events.length;
    part.range.value = here.count;
    part.range.setAttribute("aria-valuetext", `step ${here.count} of ${phase.events.length}, ${TITLES[phase.id]}`);
    part.count.textContent = `${here.count} / ${phase.events.length}`;
    const state = known(doc, phase, here.count);
    part.result.replaceChildren(...resultLine(doc, model, state.hasValue));
    tabs(phase);
    showArrays(current, phase, state);
    chooser(phase);
    asking.render();
    rows(here.count); // last: what stands above the table takes some of its height
    light(!current ? [] : current.events ? current.events.map((event) => event.by) : [current.node], "now");
    if (options.address && !restoring) writeAddress(placeOf(doc, phase, singleSteps(phase, here.count)));
  }

  function tabs(phase) {
    for (const tab of part.tabs.children) tab.setAttribute("aria-selected", tab.dataset.phase === phase.id);
  }

  function showArrays(event, phase, state) {
    const i = event?.events ? event.events.at(-1).node : event?.node;
    const value = i === undefined || phase.id === "order" ? undefined : model.values[i];
    arrayPanel(part.arrays, i === undefined ? "" : nameOf(i), value, state.derivatives.get(i), doc.sweeps[phase.sweep]?.mode);
  }

  function rows(middle) {
    part.table.replaceChildren(write.table(steps[here.phase], here.count, middle));
    const line = middle === here.count && part.table.querySelector("tr.current");
    if (line) part.table.scrollTop = line.offsetTop - part.table.clientHeight / 2;
  }

  function chooser(phase) {
    const options_ = steps.map((p, i) => [p, i]).filter(([p]) => p.id === phase.id);
    part.choose.classList.toggle("idle", options_.length < 2);
    part.choose.disabled = options_.length < 2;
    part.choose.replaceChildren(...options_.map(([p, i]) => {
      const sweep = doc.sweeps[p.sweep];
      const of = nameOf(sweep?.root ?? 0);
      const label = phase.id === "values" ? "of all nodes" : phase.id === "forward" ? `with respect to ${of}`
        : phase.id === "reverse" ? `of ${resultNames(doc).get(sweep.root) ?? of}` : `${sweep?.mode === "forward" ? "down" : "up"} from ${of}`;
      return make("option", { value: i, selected: i === here.phase }, label);
    }));
  }

  function go(count, phase = here.phase) {
    left.set(here.phase, singleSteps(steps[here.phase], here.count));
    const next = { phase, count: Math.max(0, Math.min(count, steps[phase].events.length)) };
    const moving = next.phase === here.phase && next.count === here.count + 1;
    here = next;
    chosen[steps[phase].id] = phase;
    render(moving);
  }

  // To a phase, where it was left.
  function turn(id) {
    const phase = chosen[id];
    if (phase >= 0) go(stepsFor(steps[phase], left.get(phase) ?? 0), phase);
  }

  const sequence = () => Object.values(chosen).filter((i) => i >= 0);

  // One step on; after the last of a phase, on to the next phase.
  function on() {
    if (here.count < steps[here.phase].events.length) return go(here.count + 1), true;
    const next = sequence()[sequence().indexOf(here.phase) + 1];
    if (next === undefined) return false;
    go(0, next);
    return true;
  }

  function forth() {
    if (!asking.waits()) on();
  }

  function back() {
    if (here.count > 0) return go(here.count - 1);
    const before = sequence()[sequence().indexOf(here.phase) - 1];
    if (before !== undefined) go(steps[before].events.length, before);
  }

  // Play all phases in turn; at the very end, from the beginning.
  function play(start = !timer) {
    clearInterval(timer);
    const ended = here.phase === sequence().at(-1) && here.count === steps[here.phase].events.length;
    if (start && ended) go(0, 0);
    timer = start ? setInterval(tick, PACE / Number(part.speed.value)) : 0;
    part.play.replaceChildren(icon(timer ? "pause" : "play"));
    part.play.setAttribute("aria-label", timer ? "Pause" : "Play");
    part.play.title = timer ? "Pause" : "Play";
  }

  function tick() {
    if (!root.isConnected) return clearInterval(timer);
    if (asking.waits() || !on()) return play(false);
    if (halted()) play(false);
  }

  // Whether the step that was just taken is to be stopped at; if so, it is unfolded.
  function halted() {
    const step = steps[here.phase].events[here.count - 1];
    if (!stops(step)) return false;
    const inner = (step.events ?? [step]).find((event) => stops(event));
    if (step.events && inner) {
      const done = singleSteps(steps[here.phase], here.count - 1) + step.events.indexOf(inner) + 1;
      uncover(inner.by);
      reach(here.phase, done);
    }
    return true;
  }

  function faster(by) {
    part.speed.selectedIndex = Math.max(0, Math.min(SPEEDS.length - 1, part.speed.selectedIndex + by));
    if (timer) play(true);
  }

  function run() {
    const { phase, count } = ranOn(steps, sequence(), here, stops);
    go(count, phase);
    if (count) halted();
  }

  // Show other numbers, at the same step; another branch may have more steps or fewer, the end is the end.
  function calculate(found) {
    const ended = here.count > 0 && here.count === steps[here.phase].events.length;
    model = found;
    completeView();
    single = phases(doc, model);
    steps = single.map((phase) => collapsed(phase, fold));
    go(ended ? Infinity : here.count);
  }

  // Another number for an input, or for one element of it.
  function move(i, value, element) {
    const before = inputs[i];
    inputs[i] = element === undefined ? value : { ...before, [element]: value };
    const found = compute?.(doc, inputs);
    if (!found && options.ask) return options.ask(inputs);
    knobs.say(found ? "" : OTHER_BRANCH);
    if (found) {
      calculate(found);
      tellPoint();
    } else {
      inputs[i] = before;
      knobs.set({ [i]: before });
    }
  }

  function tellPoint() {
    const at = Object.fromEntries(doc.inputs.map((i) => [nameOf(i), nested(model.values[i])]));
    if (options.address) writeAddress({ at: pointText(at) });
    options.moved?.(at);
  }

  // To a single step of a phase; if it is in the middle of a folded box, that is unfolded.
  function reach(phase, total) {
    const count = stepsFor(steps[phase], total);
    const last = single[phase].events[total - 1];
    if (last && singleSteps(steps[phase], count) !== total) uncover(last.by);
    go(stepsFor(steps[phase], total), phase);
  }

  // The same program at another point, computed elsewhere; false if it is another program.
  function update(fresh) {
    const same = fresh.nodes.length === doc.nodes.length &&
      fresh.nodes.every(({ op, name }, i) => op === doc.nodes[i].op && name === doc.nodes[i].name);
    if (!same) return false;
    fresh.nodes.forEach((node, i) => Object.assign(doc.nodes[i], node));
    doc.sweeps = fresh.sweeps;
    for (const key of Object.keys(inputs)) if (!isArray(inputs[key])) delete inputs[key];
    calculate(recorded(doc));
    knobs.set(Object.fromEntries(doc.inputs.map((i) => [i, model.values[i]]).filter(([, value]) => !isArray(value))));
    return true;
  }

  // Go where the address says: the point first, then the phase and the step.
  function restore() {
    const fields = readAddress();
    const given = compute ? findInputs(doc, fields.at) : {};
    const changed = Object.entries(given).filter(([i, value]) => isMoved(model.values[i], value));
    if (changed.length) {
      const found = compute(doc, given);
      knobs.say(found ? "" : OTHER_BRANCH);
      if (found) {
        Object.assign(inputs, given);
        knobs.set(given);
        calculate(found);
      }
    }
    const place = findPlace(doc, steps, fields);
    if (place) reach(place.phase, place.count);
  }

  // --- events ---------------------------------------------------------------------------------

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
  part.folds.addEventListener("click", (event) => {
    const to = event.target.closest("[data-view]")?.dataset.view;
    if (to !== undefined) open(to === "all" ? viewOfAll(doc) : Number(to));
  });
  part.start.addEventListener("click", () => go(0));
  part.back.addEventListener("click", back);
  part.play.addEventListener("click", () => play());
  part.next.addEventListener("click", forth);
  part.end.addEventListener("click", () => go(Infinity));
  part.speed.addEventListener("change", () => faster(0));
  part.range.addEventListener("input", () => go(Number(part.range.value)));
  part.choose.addEventListener("change", () => go(0, Number(part.choose.value)));
  part.tabs.addEventListener("click", (event) => {
    const id = event.target.closest("[data-phase]")?.dataset.phase;
    if (id) turn(id);
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

  const commands = {
    ArrowRight: forth, ArrowLeft: back, Home: () => go(0), End: () => go(Infinity), c: run, p: asking.toggle, g: () => part.find.focus(),
    "+": () => graph.enlarge(1.4), "-": () => graph.enlarge(1 / 1.4), 0: () => graph.enlarge(0), "<": () => faster(-1), ">": () => faster(1),
    1: () => turn("values"), 2: () => turn("order"), 3: () => turn("forward"), 4: () => turn("reverse"),
  };

  function press(event) {
    if (!root.isConnected || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target !== part.range) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const space = event.target.tagName === "BUTTON" ? null : () => play();
    const action = { ...commands, " ": space, ...boxKeys(event) }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  // A page has the keys to itself; in a notebook they belong to the cell that has the focus.
  (root.classList.contains("page") ? document : root).addEventListener("keydown", press);
  window.addEventListener("resize", () => graph.drawn() && root.isConnected && (graph.draw(), graph.paint()));
  // What has not begun is printed at its end: on paper nobody presses Play.
  let unplayed = false;
  window.addEventListener("beforeprint", () => (unplayed = root.isConnected && here.count === 0) && go(Infinity));
  window.addEventListener("afterprint", () => unplayed && go(0));
  window.addEventListener("beforeprint", () => writePrint(root, part, write, sequence().map((i) => steps[i]), (phase) => graph.order(steps.indexOf(phase))));
  if (options.address) window.addEventListener("hashchange", () => root.isConnected && restore());

  const knobs = sliders(part, doc, options, move, () => {
    for (const key of Object.keys(inputs)) delete inputs[key];
    if (!compute) return options.ask?.(original);
    calculate(doc.live && doc.kernel ? compute(doc, {}) : recorded(doc)); // conditions have to be asked again
    tellPoint();
  });
  part.find.parentElement.hidden = doc.nodes.length < 20;
  finder(part, doc, visit);
  readElements(part.arrays);
  sourceLines(part.code, doc);
  part.title.append(...heading(doc, write));
  part.title.ariaLabel = part.title.querySelector("math")?.getAttribute("alttext") ?? null;
  Object.keys(TITLES).forEach((id, j) => {
    if (chosen[id] >= 0) part.tabs.append(make("button", { role: "tab", "data-phase": id, type: "button", title: `${TITLES[id]} (${j + 1})` }, TITLES[id]));
  });
  folds();
  restoring = true;
  render();
  if (options.address) restore();
  restoring = false;
  return { go, on, back, play, open, visit, update, state: () => ({ ...here, id: steps[here.phase].id, model, steps, view: fold.number }) };
}
