// The steps of a program in words and numbers: rows of the table, and the sentence of one step.

const TITLES = { values: "Evaluation", order: "Order", forward: "Forward", reverse: "Reverse" };
const BEGINNINGS = {
  values: "Evaluation: each node is computed from those before it.",
  order: "Order: in which the sweep goes through the nodes.",
  forward: "Forward: from an input, derivatives go along the arrows.",
  reverse: "Reverse: from the result, derivatives go back against the arrows.",
};
const SHORT_ARRAY = /(\[*\[[^[\]]{1,22}\][\]),]*)/;
const ROLES = { "thead, tbody": "rowgroup", tr: "row", "thead th": "columnheader", "tbody th": "rowheader", td: "cell" };
const MOST_ROWS = 80; // of a long table: those around the present step

// Text with its powers set as powers; `write` makes what stands between them.
function withPowers(text, write = (part) => part) {
  const fragment = document.createDocumentFragment();
  const power = /\^(\([^()]*\)|-?[\w.]+)/.exec(text);
  if (!power) {
    fragment.append(write(text));
    return fragment;
  }
  const exponent = power[1].replace(/^\((.*)\)$/, "$1"); // raised, it needs no brackets
  fragment.append(write(text.slice(0, power.index)), make("sup", {}, withPowers(exponent, write)), withPowers(text.slice(power.index + power[0].length), write));
  return fragment;
}

// `now()` is what the page shows: its numbers (`model`) and how it is folded (`fold`).
function writer(doc, now) {
  const byName = new Map();
  doc.nodes.forEach((node, i) => (node.text || node.named || !node.op) && byName.set(node.name, i));
  for (const [i, name] of resultNames(doc)) if (!byName.has(name)) byName.set(name, i);
  const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const spelled = new Map([...byName.keys()].flatMap((name) =>
    [[name, [name]], [dotted(name), [name, "forward"]], [barred(name), [name, "reverse"]]]));
  const allNames = [...spelled.keys()].sort((a, b) => b.length - a.length).map(escape).join("|");
  const tokens = new RegExp(`(?<![\\w.])([∂]?)(${allNames || "$^"})(?![\\w(])`, "g");
  const sides = formulas(doc, now);

  // Text in which the names of nodes are set as names, each linked to its node, and powers as powers.
  const math = (text) => withPowers(text, withNames);

  function withNames(text) {
    const fragment = document.createDocumentFragment();
    let last = 0;
    for (const match of text.matchAll(tokens)) {
      fragment.append(minus(text.slice(last, match.index)) + match[1]);
      fragment.append(linked(...spelled.get(match[2])));
      last = match.index + match[0].length;
    }
    fragment.append(minus(text.slice(last)));
    return fragment;
  }

  function linked(name, mode) {
    return make("span", { class: "n", "data-node": byName.get(name) ?? "" }, ...nameHtml(name, mode));
  }

  const nameOf = (i) => doc.nodes[i].name;
  // The right-hand side of a node in numbers: "10.693 - (-0.959)".
  // Python wrote it, at the first point; elsewhere its places are filled in.
  const asRecorded = ([symbols = "", numbers = ""] = [], row = undefined) => (!now().model.moved ? { symbols, numbers }
    : row ? now().model.fill(row) : { symbols, numbers: "" });
  const valueSides = (i) => (doc.live ? sides.value(i) : asRecorded([doc.nodes[i].text, doc.nodes[i].numbers], doc.nodes[i].places));
  const numeric = (node) => valueSides(doc.nodes.indexOf(node)).numbers;
  const slope = (i, k) => (doc.live ? sides.slope(i, k) : doc.nodes[i].slopes?.[k] ?? "");

  const full = (number) => number?.text ?? short(number);
  const resultOf = (i) => (doc.nodes[i].op || typeof now().model.values[i] !== "number" ? full(now().model.values[i]) : typed(now().model.values[i]));
  const stepsOf = (count, kind = "") => `${count.toLocaleString("en")} ${kind}step${count === 1 ? "" : "s"}`;
  const oneLine = (title) => title.split("\n").join("; ");

  // One row of the table for one step: name, symbols, numbers, result.
  function row(event, phase) {
    const mode = doc.sweeps[phase.sweep]?.mode;
    if (event.kind === "fold") return foldRow(event, phase, mode);
    const node = doc.nodes[event.node];
    const base = { name: nameHtml(node.name, mode) };
    if (event.kind === "value") {
      const { symbols, numbers } = node.op ? valueSides(event.node) : { symbols: "", numbers: "" };
      return { name: nameHtml(node.name), symbols: math(symbols), numbers: math(numbers), result: resultOf(event.node) };
    }
    if (event.kind === "seed") {
      const { seed } = doc.sweeps[phase.sweep];
      return { ...base, symbols: math(seed), numbers: "", result: full(event.number) };
    }
    return event.kind === "tangent" ? tangentRow(event, base, phase) : adjointRow(event, base, phase);
  }

  // What a folded box does, as one step: its title, how much it is, and what came out last.
  function foldRow({ box, events }, phase, mode) {
    const { title } = doc.boxes[box];
    const last = events[events.length - 1];
    const steps = stepsOf(events.length);
    const number = last.kind === "value" ? now().model.values[last.node] : last.number;
    const of = nameHtml(nameOf(last.node), phase.id === "values" ? "" : mode);
    return { name: ["⊞"], symbols: make("code", {}, oneLine(title)),
      numbers: make("span", { class: "told" }, `${steps}, to `, ...of), result: number === undefined ? "" : full(number) };
  }

  const tangentSides = (i, { sweep }) => (doc.live ? sides.tangent(i, now().model.sweeps[sweep].numbers)
    : asRecorded(doc.sweeps[sweep].texts?.[i], doc.sweeps[sweep].places?.[i]));

  function tangentRow(event, base, phase) {
    const { symbols, numbers } = tangentSides(event.node, phase);
    return { ...base, symbols: math(symbols), numbers: math(numbers), result: full(event.number) };
  }

  function adjointRow(event, base, phase) {
    const { texts, places } = doc.sweeps[phase.sweep];
    const { symbols, numbers } = doc.live ? sides.adjoint(event) : asRecorded(texts?.[event.at], places?.[event.at]);
    return { ...base, symbols: math(symbols), numbers: math(numbers), result: full(event.number) };
  }

  // --- table ----------------------------------------------------------------------------------

  // The table after `count` steps; of a long one, the rows around the step `middle`.
  function table(phase, count, middle = count, most = MOST_ROWS) {
    const first = Math.max(0, Math.min(middle - (most >> 1), phase.events.length - most));
    const events = phase.events.slice(first, first + most);
    let lines = phase.id === "order" ? orderRows(phase, first, events)
      : events.map((event) => rowCells(row(event, phase)));
    const arrays = phase.id !== "order" && lines.some((line) => line[3].classList.contains("array"));
    const kind = arrays ? "stacked" : phase.id;
    if (kind === "order") lines.flat().forEach(entitle); // its columns may cut it
    else lines = lines.map(arrays ? stacked : widened);
    const body = events.map((event, j) => {
      const i = first + j;
      const state = i === count - 1 ? "current" : i < count ? "" : "later";
      return make("tr", { class: state, "data-node": event.box === undefined ? event.node : undefined,
        "data-box": event.box, "data-step": i + 1 }, ...(i < count ? lines[j] : coming(lines[j])));
    });
    const heads = phase.id === "order" ? ["Node", "Step", "Path", "Order so far"]
      : arrays ? ["Node", "In symbols, and in numbers", "Result"] : ["Node", "In symbols", "In numbers", "Result"];
    const rest = phase.events.length - first - events.length;
    return withRoles(make("table", { class: kind },
      make("thead", {}, make("tr", {}, ...heads.map((h) => make("th", { scope: "col" }, h)))),
      make("tbody", {}, ...withoutTangent(phase, kind), more(first, "earlier", first - (most >> 2)), ...body, more(rest, "later", first + events.length + (most >> 2)), ...withoutAdjoint(phase, kind))));
  }

  // A table for readers of screens also where its rows are not set as rows.
  function withRoles(table) {
    for (const [parts, role] of Object.entries(ROLES)) table.querySelectorAll(parts).forEach((part) => part.setAttribute("role", role));
    table.setAttribute("role", "table");
    return table;
  }

  // What a sweep does not reach has the derivative 0, as in the tables; no step leads there.
  function zeroRow(i, mode, { symbols, numbers }, kind) {
    const cells = rowCells({ name: nameHtml(nameOf(i), mode), symbols: math(symbols), numbers: math(numbers), result: "0" });
    return make("tr", { class: "unreached", "data-node": i }, ...(kind === "stacked" ? stacked : widened)(cells));
  }

  const quotient = (of, by) => ({ symbols: `∂${of}/∂${by}`, numbers: "" });

  // Of a forward sweep, all nodes that it does not reach, but for those in folded boxes.
  function withoutTangent(phase, kind) {
    if (phase.id !== "forward" || doc.nodes.length > MOST_ROWS) return [];
    const { root, order } = doc.sweeps[phase.sweep], reached = new Set(order);
    const { owner } = now().fold;
    return doc.nodes.flatMap((node, i) => (reached.has(i) || doc.boxes[owner[i]].size > 1 ? []
      : [zeroRow(i, "forward", node.op ? tangentSides(i, phase) : quotient(node.name, nameOf(root)), kind)]));
  }

  // Of a reverse sweep, the inputs that it does not reach.
  function withoutAdjoint(phase, kind) {
    if (phase.id !== "reverse" || doc.nodes.length > MOST_ROWS) return [];
    const { root } = doc.sweeps[phase.sweep];
    const reached = new Set([root, ...now().model.sweeps[phase.sweep].terms.map(([node]) => node)]);
    return doc.inputs.filter((i) => !reached.has(i)).map((i) => zeroRow(i, "reverse", quotient(resultNames(doc).get(root) ?? nameOf(root), nameOf(i)), kind));
  }

  // Symbols without numbers beside them take their room.
  function widened([name, symbols, numbers, result]) {
    if (numbers.textContent) return [name, symbols, numbers, result];
    symbols.colSpan = 2;
    return [name, symbols, result];
  }

  // Numbers of arrays need more room than a column: they stand in a second line, below the symbols.
  function stacked([name, symbols, numbers, result]) {
    const whole = numbers.textContent;
    const parts = [...numbers.childNodes].flatMap((part) => (part.data ? part.data.split(SHORT_ARRAY).map(together) : [part]));
    const sign = numbers.querySelector(".told") ? "" : "= ";
    if (symbols.querySelector("code")) entitle(symbols);
    if (whole) symbols.append(make("div", { class: "numbers", title: sign + whole }, sign, ...parts));
    return [name, symbols, result];
  }

  // A short array, in which no line ends if there is a line for it.
  const together = (text) => (SHORT_ARRAY.test(text) ? make("span", { class: "slice" }, text) : text);

  // A row that is still to come has nothing but its name.
  const coming = ([name, ...cells]) => [name, ...cells.map(({ colSpan }) => make("td", { colspan: colSpan > 1 && colSpan }))];

  // A row that stands for rows not shown; it brings them.
  function more(count, where, middle) {
    if (!count) return "";
    const button = make("button", { type: "button", class: "plain", "data-more": middle },
      stepsOf(count, `${where} `));
    return make("tr", { class: "more" }, make("td", { colspan: 4 }, button));
  }

  function rowCells({ name, symbols, numbers, result }) {
    const [, size, elements] = /^(\w+\([\d, ]*\)) (\[.*)$/s.exec(result) ?? [];
    const last = elements === undefined ? make("td", { class: "result" }, minus(result))
      : make("td", { class: "result array", title: minus(result) }, make("span", {}, size), " ", make("span", { class: "slice" }, minus(elements)));
    const cells = [make("td", {}, symbols), make("td", {}, ...(numbers ? [numbers] : []))];
    return [make("th", { scope: "row" }, ...name), ...cells, last];
  }

  // Give a cell its whole text as a title.
  function entitle(cell) {
    if (cell.textContent) cell.title ||= cell.textContent;
  }

  // The path and the order after each step of a search, as far as they are drawn.
  function orderRows(phase, first, events) {
    const down = doc.sweeps[phase.sweep].mode === "forward";
    const list = (nodes) =>
      nodes.flatMap((node, j) => [j ? " " : "", linked(nameOf(node))]);
    const path = [], order = [];
    const take = (event) => {
      if (event.kind === "fold") return;
      if (down) walk(path, event);
      if (event.kind === "place") down ? order.unshift(event.node) : order.push(event.node);
    };
    phase.events.slice(0, first).forEach(take);
    return events.map((event) => {
      take(event);
      if (event.kind === "fold") return orderFold(event);
      return [make("th", { scope: "row" }, ...nameHtml(nameOf(event.node))),
        make("td", {}, event.kind), make("td", {}, ...list(path.slice(-10))),
        make("td", { class: "result order" }, ...list(down ? order.slice(0, 10) : order.slice(-10)))];
    });
  }

  function orderFold({ box, events }) {
    const title = oneLine(doc.boxes[box].title);
    return [make("th", { scope: "row" }, "⊞"), make("td", {}, events[events.length - 1].kind),
      make("td", { class: "long", title }, make("code", {}, title)),
      make("td", { class: "result" }, stepsOf(events.length))];
  }

  // --- the present step -----------------------------------------------------------------------

  function sentence(event, phase) {
    if (!event) return [`${BEGINNINGS[phase.id]} Press Play, or → for one step.`];
    if (event.kind === "fold") return foldSentence(event, phase);
    if (event.kind === "visit") return ["Visit ", linked(nameOf(event.node)), "."];
    if (event.kind === "place") {
      return [linked(nameOf(event.node)), doc.sweeps[phase.sweep].mode === "forward"
        ? " has no child left to visit: it goes to the front of the order."
        : " follows its parents: it is next in the order, which is read from its end."];
    }
    const { name, symbols, numbers, result } = row(event, phase);
    const text = (cell) => minus(cell?.textContent ?? cell ?? "");
    const cells = [symbols, numbers, minus(result)].filter((cell, i, all) => text(cell) && text(cell) !== text(all[i - 1])); // nothing is said twice
    return [...name, ...cells.flatMap((cell) => [" = ", cell])];
  }

  function foldSentence(event, phase) {
    const { symbols, numbers, result } = row(event, phase);
    return [symbols, ": ", numbers, ...(result ? [` = ${minus(result)}`] : []), "."];
  }

  function reason(event, phase) {
    if (phase.id === "order") {
      return doc.sweeps[phase.sweep].mode === "forward"
        ? "A depth-first search: a node is placed when all that depends on it has been placed."
        : "What the output depends on is found by walking up to the parents.";
    }
    if (event?.kind === "fold") {
      return event.box in now().fold.view.unfold ? "Folded: press the box, or Enter on it, to see what is inside." : "Folded.";
    }
    const node = doc.nodes[event?.by];
    const text = node?.reason ?? doc.rows[node?.op]?.reason ?? "";
    return text ? `${node.op}: ${text}.` : "";
  }

  // What is known of a node, in one line: its formula, the user's name and line, its slopes.
  function about(i) {
    const node = doc.nodes[i];
    const { model } = now();
    const parts = [[node.name, minus(node.text ?? ""), minus(resultOf(i))].filter(Boolean).join(" = ")];
    if (node.variable) parts.push(`in your code: ${node.variable}`);
    (node.args ?? []).forEach((arg, k) => {
      const text = Array.isArray(arg) ? "" : slope(i, k);
      const d = model.partials[i][k];
      if (!text) return;
      const quotient = `∂${node.name}/∂${nameOf(arg)}`;
      const number = d === undefined || d === null || typeof d === "object" || short(d) === text ? "" : ` = ${numeral(d)}`;
      if (text !== quotient) parts.push(`${quotient} = ${minus(text)}${number}`);
    });
    return parts;
  }

  const aboutBox = ({ title, amount, kind }) => [`${kind}: ${oneLine(title)}`, amount];

  return { math, linked, nameOf, numeric, row, table, sentence, reason, about, aboutBox };
}
