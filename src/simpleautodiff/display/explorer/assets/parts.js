// The parts of the page: what stands where.

const SPEEDS = [0.5, 1, 2, 4, 8];
const ICONS = {
  start: "M4 3h2v10H4zM13 3v10L6.5 8z",
  back: "M11 3v10L4.5 8z",
  play: "M4.5 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  next: "M5 3v10l6.5-5z",
  end: "M10 3h2v10h-2zM3 3v10l6.5-5z",
  larger: "M7 3h2v4h4v2H9v4H7V9H3V7h4z",
  smaller: "M3 7h10v2H3z",
  fit: "M2 2h5v2H4v3H2zM9 2h5v5h-2V4H9zM2 9h2v3h3v2H2zM12 9h2v5H9v-2h3z",
  theme: "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13zM8 3a5 5 0 0 1 0 10z",
};

function icon(shape) {
  return make("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" },
    make("path", { d: ICONS[shape], "fill-rule": "evenodd" }));
}

function skeleton(root, doc) {
  const button = (label, shape, cls = "") =>
    make("button", { type: "button", "aria-label": label, title: label, class: cls }, icon(shape));
  const part = {
    title: make("h1"),
    result: make("p", { class: "outcome" }),
    theme: button("Light or dark", "theme", "plain theme"),
    tabs: make("div", { role: "tablist", "aria-label": "Phase" }),
    choose: make("select", { "aria-label": "Sweep" }),
    canvas: make("div", { class: "canvas", tabindex: 0, role: "region", "aria-label": "Graph" }),
    formula: make("p", { class: "formula" }),
    why: make("p", { class: "why" }),
    arrays: make("div", { class: "arrays", hidden: true }),
    predict: make("div", { class: "predict", hidden: true }),
    predicting: make("button", { type: "button", class: "chip", "aria-pressed": "false", title: "Say the next number before it is shown (p)" }, "Predict"),
    map: make("div", { class: "map", hidden: true, title: "The whole graph: press to go there" }),
    find: make("input", { type: "text", "aria-label": "Go to", placeholder: "v4, a name, sin", spellcheck: "false", autocomplete: "off",
      title: "A node, a name of yours, an operation, a line (g)" }),
    found: make("div", { class: "found", hidden: true, role: "group", "aria-label": "Found" }),
    speed: make("select", { "aria-label": "Speed", title: "Speed (< and >)" },
      ...SPEEDS.map((speed) => make("option", { value: speed, selected: speed === 1 }, `${speed}×`))),
    live: make("p", { class: "unseen", "aria-live": "polite" }),
    sliders: make("div", { class: "sliders" }),
    table: make("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Table" }),
    code: make("ol", { class: "code", "aria-label": "Source" }),
    start: button("To the start", "start"),
    back: button("Back one step", "back"),
    play: button("Play", "play", "play"),
    next: button("One step on", "next"),
    end: button("To the end", "end"),
    range: make("input", { type: "range", min: 0, "aria-label": "Step" }),
    count: make("span", { class: "count" }),
    stop: make("input", { type: "text", "aria-label": "Stop at", placeholder: "v4, line 5, > 100, nan", spellcheck: "false",
      title: "Where playing stops; Enter, or the key c, goes on to there" }),
    print: make("section", { class: "print" }),
    tip: make("p", { class: "tip", "aria-hidden": "true", hidden: true }),
    folds: make("div", { class: "folds", role: "toolbar", "aria-label": "Boxes" }),
    larger: button("Larger", "larger", "plain"),
    smaller: button("Smaller", "smaller", "plain"),
    fit: button("Fit the graph into its window", "fit", "plain"),
  };
  root.classList.add("explorer");
  root.replaceChildren(
    make("header", {},
      make("div", { class: "heading" }, part.title, part.result),
      make("nav", { "aria-label": "Phases" }, part.tabs, part.choose, part.theme)),
    make("main", {},
      make("section", { class: "left" },
        make("div", { class: "stage" }, part.canvas,
          make("div", { class: "under" }, part.tip, part.map,
            make("div", { class: "zoom", role: "toolbar", "aria-label": "Size of the graph" }, part.smaller, part.fit, part.larger))),
        make("div", { class: "tools" }, make("label", { class: "find" }, "Go to", part.find), part.found, part.folds),
        part.sliders),
      make("section", { class: "right" },
        make("div", { class: "card" }, part.formula, part.why, part.arrays, part.predict, part.live),
        part.table, part.code)),
    make("footer", {},
      make("div", { class: "buttons", role: "toolbar", "aria-label": "Steps" },
        part.start, part.back, part.play, part.next, part.end),
      part.speed, part.range, part.count, part.predicting, make("label", { class: "stop" }, "Stop at", part.stop)),
    part.print,
  );
  return part;
}

// How much of a program is folded away, in a view of it.
function note(doc, fold) {
  const folded = fold.view.boxes.map(([box]) => doc.boxes[box].size).filter((size) => size > 1);
  const total = folded.reduce((sum, size) => sum + size, 0).toLocaleString("en");
  const text = folded.length
    ? `${doc.nodes.length.toLocaleString("en")} nodes; ${total} of them are folded into ${folded.length === 1 ? "one box" : `${folded.length} boxes`}.`
    : `${doc.nodes.length.toLocaleString("en")} nodes, all unfolded.`;
  const many = folded.length && doc.nodes.length > MOST_UNFOLDED ? "Too many to draw them all: press a box, or go to a node" : "";
  return make("span", { class: "note", title: many || text }, text);
}

function sourceLines(list, doc) {
  list.hidden = !doc.code.length;
  doc.code.forEach((line, j) => {
    list.append(make("li", {
      value: line.number, class: line.elsewhere ? "elsewhere" : "",
      "data-line": line.nodes.length ? j : undefined,
      tabindex: line.nodes.length ? 0 : undefined,
    }, make("span", { class: "number" }, String(line.number)), make("code", {}, line.text || " ")));
  });
}
