// The page on paper: the graph, the source and the tables, set as small as one sheet needs.

const SHEET = 251; // millimetres between the margins of the shorter of A4 and Letter
// Graph in mm, text in pt, columns, and whether each table stays in one column.
const SETTINGS = [[78, 9, 2, true], [78, 9, 2], [70, 8, 2], [60, 7.5, 2], [60, 7, 3], [50, 6.5, 3]];
const MOST_PRINTED = 1000; // rows of one table
const PIXELS = 96 / 25.4; // of a millimetre

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
  root.classList.add("measured");
  const height = (graph) => graph + 16 + (part.print.offsetHeight + part.code.querySelectorAll("li").length * 16) / PIXELS;
  set(SETTINGS.find((setting) => (set(setting), height(setting[0]) <= SHEET)) ?? SETTINGS[1]);
  root.classList.remove("measured");
}

function listed(write, nodes) {
  const names = nodes.slice(0, 60).flatMap((node, j) => [j ? ", " : "", write.linked(write.nameOf(node))]);
  return make("p", {}, ...names, nodes.length > 60 ? ", …" : "");
}
