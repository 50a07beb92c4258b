// The page on paper: the graph, the source and the tables, set as small as one sheet needs.

const SHEET = 251; // millimetres between the margins of the shorter of A4 and Letter
// Graph in mm, text in pt, columns, and whether each table stays in one column.
const SETTINGS = [[78, 9, 2, true], [78, 9, 2], [70, 8, 2], [60, 7.5, 2], [60, 7, 3], [50, 6.5, 3]];
const MOST_PRINTED = 1000; // rows of one table
const PIXELS = 96 / 25.4; // of a millimetre
const LINE = 182; // millimetres between the margins of the narrower of A4 and Letter
const LEGIBLE = 0.3; // scale of a drawing from which its text can be read

// `phases` are the phases to print; `order` lists the nodes in the order that a search finds.
function writePrint(root, part, write, phases, order) {
  part.print.replaceChildren(...phases.map((phase) => make("section", {}, make("h2", {}, TITLES[phase.id]),
    phase.id === "order" ? listed(write, order(phase)) : write.table(phase, Infinity, 0, MOST_PRINTED))));
  const set = ([graph, text, columns, whole = false]) => {
    root.style.setProperty("--graph", `${graph}mm`);
    root.style.setProperty("--text", `${text}pt`);
    part.print.style.columns = columns;
    part.print.classList.toggle("whole", whole);
  };
  const { width, height: tall } = part.canvas.querySelector("svg").viewBox.baseVal;
  const small = Math.min(LINE / width, SETTINGS[0][0] / tall) * PIXELS < LEGIBLE;
  root.classList.toggle("too-large", small);
  if (small) part.print.prepend(make("p", { class: "note" }, "The graph is too large for paper; folded, it can be printed."));
  root.classList.add("measured");
  const height = (graph) => graph + 16 + (part.print.offsetHeight + part.code.querySelectorAll("li").length * 16) / PIXELS;
  set(SETTINGS.find((setting) => (set(setting), height(setting[0]) <= SHEET)) ?? SETTINGS[1]);
  root.classList.remove("measured");
}

function listed(write, nodes) {
  const names = nodes.slice(0, 60).flatMap((node, j) => [j ? ", " : "", write.linked(write.nameOf(node))]);
  return make("p", {}, ...names, nodes.length > 60 ? ", …" : "");
}
