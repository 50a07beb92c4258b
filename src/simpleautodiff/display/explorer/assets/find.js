// "Go to": a node by its name, the user's own name, its operation, or a line of the source.

const MOST_FOUND = 12;

// Nodes that a text finds: names first, then variables, operations and source lines.
function search(doc, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found = new Set();
  const add = (test) => doc.nodes.forEach((node, i) => found.size < 400 && test(node, i) && found.add(i));
  add((node) => node.name.toLowerCase() === wanted);
  if (found.size) return [...found];
  add((node) => node.variable?.toLowerCase() === wanted);
  add((node) => node.op === wanted || node.variable?.toLowerCase().includes(wanted));
  const named = found.size > 0;
  const line = /^line\s+(\d+)$/.exec(wanted)?.[1];
  for (const { number, text: source, nodes } of doc.code) {
    if (line ? number === Number(line) : !named && wanted.length > 2 && source.toLowerCase().includes(wanted)) nodes.forEach((i) => found.add(i));
  }
  add((node) => node.name.toLowerCase().startsWith(wanted));
  return [...found];
}

// The field: what it finds is listed, Enter goes to the first, and Enter again to the next.
function finder(part, doc, go) {
  const { find: field, found: list } = part;
  let hits = [], at = -1;
  const show = () => {
    hits = search(doc, field.value);
    at = -1;
    field.setAttribute("aria-invalid", field.value.trim() !== "" && !hits.length);
    list.replaceChildren(...hits.slice(0, MOST_FOUND).map((i) => {
      const node = doc.nodes[i];
      const said = [node.op ?? "input", node.variable].filter(Boolean).join(", ");
      return make("button", { type: "button", class: "chip", "data-go": i }, ...nameHtml(node.name), ` ${said}`);
    }), hits.length > MOST_FOUND ? make("span", { class: "note" }, `and ${hits.length - MOST_FOUND} more`) : "");
    list.hidden = !hits.length;
  };
  const close = () => {
    list.hidden = true;
  };
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return close(), field.blur();
    if (event.key !== "Enter" || !hits.length) return;
    at = (at + 1) % hits.length;
    go(hits[at]);
    if (hits.length === 1) close();
  });
  list.addEventListener("click", (event) => {
    const to = event.target.closest("[data-go]")?.dataset.go;
    if (to === undefined) return;
    go(Number(to));
    close();
  });
}
