// The heading: the formula as it is written on paper, and the names of the results.

const MATHML = "http://www.w3.org/1998/Math/MathML";
const GREEK = { pi: "π" }; // other names are as they are in the graph and the table

// What the results are called, by node: y, or y1, y2, ...
const resultNames = (doc) => new Map(doc.outputs.map((i, j) => [i, doc.results[j]]));

function mathml(tag, attributes, ...children) {
  const element = document.createElementNS(MATHML, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// A formula in MathML; null if it is more than arithmetic and calls. `nodeOf` finds the node of a name.
function typeset(text, nodeOf) {
  const tokens = text.match(/\s+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+|[\p{L}_][\p{L}\w]*|\*\*|[-+*/^(),]|./gu) ?? [];
  const words = tokens.filter((token) => token.trim());
  let at = 0;
  const accept = (...wanted) => (wanted.includes(words[at]) ? words[at++] : undefined);
  const operator = (sign) => mathml("mo", {}, sign);
  const row = (...parts) => mathml("mrow", {}, ...parts);
  const fence = (sign, inner) => mathml("mo", { lspace: "0", rspace: "0", stretchy: `${inner.querySelector("mfrac") !== null}` }, sign);
  const fenced = (inner) => row(fence("(", inner), inner, fence(")", inner));

  function name(word) {
    const [, base, digits] = /^(.*?)_?(\d*)$/.exec(word);
    const letter = mathml("mi", base.length > 1 && !GREEK[base] ? { mathvariant: "normal" } : {}, GREEK[base] ?? base);
    const node = nodeOf(word);
    const linked = node === undefined ? {} : { class: "n", "data-node": node };
    return digits ? mathml("msub", linked, letter, mathml("mn", {}, digits)) : mathml("mrow", linked, letter);
  }

  // Parts carry how tightly they bind: 1 a sum, 2 a product, 3 a sign, 4 a power, 5 an atom.
  const tight = ({ part, binds }, least) => (binds < least ? fenced(part) : part);

  function sum() {
    let left = product();
    for (let sign; (sign = accept("+", "-")); ) {
      const right = tight(product(), 2);
      left = { part: row(left.part, operator(sign === "-" ? "−" : "+"), right), binds: 1 };
    }
    return left;
  }

  function product() {
    let left = signed();
    for (let sign; (sign = accept("*", "/")); ) {
      const right = signed();
      left = sign === "/" ? { part: mathml("mfrac", {}, left.part, right.part), binds: 4.5 }
        : { part: row(tight(left, 2), operator("×"), tight(right, 3.5)), binds: 2 };
    }
    return left;
  }

  function signed() {
    const sign = accept("-", "+");
    if (!sign) return power();
    return { part: row(operator(sign === "-" ? "−" : "+"), tight(signed(), 2)), binds: 3 };
  }

  function power() {
    const base = atom();
    if (!accept("**", "^")) return base;
    return { part: mathml("msup", {}, tight(base, 5), signed().part), binds: 4 };
  }

  function atom() {
    if (accept("(")) {
      const inner = sum();
      if (!accept(")")) throw new SyntaxError(text);
      return inner;
    }
    const word = words[at++] ?? "";
    if (/^[\d.]/.test(word)) return { part: mathml("mn", {}, minus(word)), binds: 5 };
    if (!/^[\p{L}_]/u.test(word)) throw new SyntaxError(text);
    return accept("(") ? called(word) : { part: name(word), binds: 5 };
  }

  function called(word) {
    const args = [sum()];
    while (accept(",")) args.push(sum());
    if (!accept(")")) throw new SyntaxError(text);
    const inner = row(...args.flatMap(({ part }, k) => (k ? [operator(","), part] : [part])));
    if (word === "sqrt") return { part: mathml("msqrt", {}, inner), binds: 5 };
    if (word === "abs") return { part: row(operator("|"), inner, operator("|")), binds: 5 };
    return { part: row(mathml("mi", word.length > 1 ? { mathvariant: "normal" } : {}, word), fenced(inner)), binds: 4.5 };
  }

  try {
    const { part } = sum();
    return at === words.length ? part : null;
  } catch {
    return null;
  }
}

// Equations in MathML: those of the parts that have names, as in "a = x*y; sin(a)", and that of the results.
function typesetLines(text, nodeOf, results) {
  const lines = text.split(";").map((line) => line.trim()).filter(Boolean);
  const sides = lines.map((line) => /^(?:([\p{L}_][\p{L}\w]*)\s*=(?!=))?(.*)$/su.exec(line).slice(1));
  const written = sides.map(([, right]) => typeset(right, nodeOf));
  if (!lines.length || written.includes(null) || sides.slice(0, -1).some(([left]) => !left) || sides.at(-1)[0]) return null;
  const lefts = sides.map(([left], j) => (j < sides.length - 1 ? [typeset(left, nodeOf)] : results.map(([i, name]) => typeset(name, () => i))));
  const between = (sign, parts) => parts.flatMap((part, j) => (j ? [mathml("mo", {}, sign), ...part] : part));
  return mathml("mrow", {}, ...between(";", written.map((right, j) => [
    ...between(",", lefts[j].map((left) => [left])), mathml("mo", {}, "="), right])));
}

// "y = log(x1) + x1 × x2 − sin(x2)"; of a function its name and its arguments; else the title.
function heading(doc, write) {
  const index = new Map(doc.nodes.map((node, i) => [node.name, i]));
  const title = doc.title || "f";
  const named = /^[\p{L}_][\p{L}\w]*$/u.test(title) && !index.has(title);
  const inputs = [...new Set(doc.inputs.map((i) => doc.nodes[i].name.split(/[[.]/)[0]))];
  const listed = inputs.length > 6 ? [...inputs.slice(0, 3), "dots", inputs.at(-1)] : inputs;
  const text = named ? `${title}(${listed.join(", ")})` : title;
  const part = typesetLines(text, (name) => index.get(name), [...resultNames(doc)]);
  if (!part) return [write.math(text)];
  for (const letter of part.querySelectorAll("mi")) if (letter.textContent === "dots") letter.textContent = "…";
  return [mathml("math", { alttext: `${[...resultNames(doc).values()].join(", ")} = ${text.replace("dots", "…")}` }, part)];
}

const NO_DERIVATIVE = ": no derivative here"; // short: what is beside it stays where it is

// "y = v5", and its number as soon as it is known; a nan has no derivative.
function resultLine(doc, model, has) {
  const parts = [];
  for (const [i, name] of resultNames(doc)) {
    if (parts.length) parts.push(", ");
    const own = doc.nodes[i].name;
    parts.push(make("span", { class: "n", "data-node": i }, ...nameHtml(name)));
    if (own !== name) parts.push(" = ", make("span", { class: "n", "data-node": i }, ...nameHtml(own)));
    if (has(i)) parts.push(` = ${minus(model.values[i]?.text ?? short(model.values[i]))}${hasNan(model.values[i]) ? NO_DERIVATIVE : ""}`);
  }
  return parts;
}
