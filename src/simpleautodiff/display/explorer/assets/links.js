// What belongs together lights up together: boxes, rows, names, source lines.

function links(root, part, doc, now, write, graph) {
  const lineOf = new Map(doc.code.flatMap((line, j) => line.nodes.map((i) => [i, j])));

  // Light up everything that belongs to some nodes.
  function light(nodes, mark = "lit-node") {
    const { fold } = now();
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
    for (const { a, b, k, label } of graph.edges()) {
      const touches = node !== undefined && [a, b].includes(Number(node));
      if (touches || label.classList.contains("near")) label.textContent = touches ? graph.slopeOn(b, k) : "";
      label.classList.toggle("near", touches);
    }
    if (!group) return;
    const said = node === undefined ? write.aboutBox(doc.boxes[box]) : write.about(Number(node));
    part.tip.replaceChildren(...said.map((text) => make("span", {}, write.math(text))));
  }

  function leave() {
    point(root);
    graph.repaintEdges();
  }

  root.addEventListener("pointerover", (event) => (leave(), point(event.target)));
  root.addEventListener("pointerleave", leave);
  root.addEventListener("focusin", (event) => point(event.target));
  root.addEventListener("focusout", leave);
  return light;
}
