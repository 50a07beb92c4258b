// Where a nan comes from, at the step at which it arises.

// `numbers(node)` is a right-hand side in numbers. Empty, if the step has no nan.
function explainNan(doc, model, event, sweep, numbers) {
  if (!event || event.events || ["visit", "place", "seed"].includes(event.kind)) return "";
  if (event.kind === "value") return nanValue(doc, model, event.node, numbers);
  if (!Number.isNaN(event.number)) return "";
  const terms = event.kind === "accumulate" ? [[event.from, model.partials[event.child][event.k], event.child]]
    : doc.nodes[event.node].args.flatMap((arg, k) => (Array.isArray(arg) ? [] : [[model.sweeps[sweep].numbers[arg], model.partials[event.node][k], event.node]]));
  for (const [comes, d, by] of terms) {
    const name = doc.nodes[by].name;
    if (Number.isNaN(d) && hasNan(model.values[by])) return `nan comes from the evaluation, where ${name} is nan: it has no derivative there.`;
    if (Number.isNaN(d)) return `nan arises here: the local derivative of ${name} (${doc.nodes[by].op}) is not a number at this point.`;
    if (typeof comes === "number" && typeof d === "number" && !Number.isNaN(comes) && Number.isNaN(comes * d)) return `nan arises here: ${numeral(comes)} × ${numeral(d)} is not a number.`;
  }
  if (event.kind === "accumulate" && !Number.isNaN(event.from) && !event.first && Number.isNaN(event.before)) return "nan was here before: a sum with it is nan as well.";
  if (terms.some(([comes]) => Number.isNaN(comes))) return "nan comes to this step from the one before it.";
  return "nan arises here: the sum of inf and −inf is not a number.";
}

function nanValue(doc, model, i, numbers) {
  const node = doc.nodes[i], value = model.values[i];
  if (!hasNan(value)) return "";
  if (!node.op) return "This input is nan: everything computed from it is nan.";
  const from = node.args.find((arg) => !Array.isArray(arg) && hasNan(model.values[arg]));
  if (from !== undefined) return `nan comes from ${doc.nodes[from].name}.`;
  const said = minus(numbers(node));
  return said ? `nan arises here: ${said} is not a real number. All that is computed from it is nan, too.`
    : `nan arises here, in ${node.op}. All that is computed from it is nan, too.`;
}
