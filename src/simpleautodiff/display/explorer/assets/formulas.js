// Formulas that act as numbers, as in the library: the same rules, called with these, write the
// right-hand sides of the table, in symbols and with numbers.

const SUM = 1, PRODUCT = 2, SIGN = 3, POWER = 4, CALL = 5; // how tightly a form binds
const MOST_DIGITS = 17;

// A formula: its text, how it binds, the value behind it, and what its digits say.
const formula = (text, binds, value, said) => ({ text, binds, value, said });
const named = (name, value) => formula(name, CALL, value);
const bindsOf = (text) => (text.startsWith("-") ? SIGN : /\de/.test(text) ? POWER : CALL); // (1e-07)^2
const written = (number, text) => formula(text, bindsOf(text), number, Number(text.replace("inf", "Infinity")));
const computedNumber = (number, digits) => written(number, short(number, digits));
const typedNumber = (number, digits) => written(number, typed(number, digits));
const within = (term, binds) => (term.binds < binds ? `(${term.text})` : term.text);

// A number as it was typed; one of 16 digits or more was computed.
function typed(number, digits = 3) {
  const text = python(number, 16);
  const few = text.split("e")[0].replace(/^[-0.]+/, "").replace(".", "").length <= 15;
  return few ? text : short(number, digits);
}

// The arithmetic of formulas, for constants with so many digits.
function writing(forms, digits) {
  const term = (x) => (typeof x === "number" ? typedNumber(x, digits) : x);
  const both = (name, terms, text, binds) => formula(text, binds,
    NUMBERS[name](...terms.map((t) => t.value)), NUMBERS[name](...terms.map((t) => t.said)));
  const infix = (name, left, right, binds) => (x, y) => {
    const a = term(x), b = term(y);
    const text = forms[name][0].replace("{0}", () => within(a, left)).replace("{1}", () => within(b, right(b)));
    return both(name, [a, b], text, binds ?? forms[name][1]);
  };
  const tight = (b) => SIGN + (b.binds === SIGN);
  const arithmetic = {};
  for (const [name, [form, binds]] of Object.entries(forms)) {
    arithmetic[name] = (...args) => {
      const terms = args.map(term);
      return both(name, terms, form.replace(/\{(\d)\}/g, (_, k) => terms[k].text), binds);
    };
  }
  for (const name of Object.keys(QUESTIONS)) {
    arithmetic[name] = (...args) => QUESTIONS[name](...args.map((x) => x?.value ?? x));
  }
  const divide = infix("div", PRODUCT, tight), multiply = infix("mul", PRODUCT, tight);
  return Object.assign(arithmetic, {
    add: infix("add", SUM, (b) => SUM + (b.binds === SIGN) * CALL),
    sub: infix("sub", SUM, (b) => PRODUCT + (b.binds === SIGN) * CALL),
    mul: (x, y) => (term(y).divides ? divide(x, term(y).divides) : multiply(x, y)),
    times: multiply, // the step of a program itself: no quotient is made of it
    div: (x, y) => Object.assign(divide(x, y), term(x).text === "1" ? { divides: term(y) } : {}),
    power: infix("power", CALL, () => CALL),
    floor_divide: infix("floor_divide", PRODUCT, () => SIGN, SUM),
    mod: infix("mod", PRODUCT, () => SIGN, SUM),
    neg: (x) => {
      const a = term(x);
      return both("neg", [a], `-${within(a, a.binds === SIGN ? CALL : PRODUCT)}`, SIGN);
    },
    pos: (x) => term(x),
    abs: (x) => both("abs", [term(x)], `|${term(x).text}|`, CALL),
    where: (condition, x, y) => term((condition?.value ?? condition) ? x : y),
    pi: () => formula("π", CALL, Math.PI, Math.PI),
    term,
  });
}

// a + b, or a - b if b begins with a minus.
function added(a, b) {
  const text = b.text.startsWith("-") ? `${a.text} - ${b.text.slice(1)}` : `${a.text} + ${b.text}`;
  return formula(text, SUM, undefined, a.said + b.said);
}

// A right-hand side with so many digits that it is true: what it says is printed as what follows it.
// If no digits are enough, as where an array has another precision, more of them say less.
function writeTrue(write, value, print = short) {
  const wanted = strip(print(value)), first = write(3);
  let found = first;
  for (let digits = 4; digits <= MOST_DIGITS; digits++) {
    if (Number.isNaN(found.said) || found.said === undefined || strip(print(found.said)) === wanted || found.said === value) return found.text;
    found = write(digits);
  }
  return (value.length > 1 ? first : found).text;
}

const dotted = (name) => `${name[0]}\u0307${name.slice(1)}`.normalize("NFC");
const barred = (name) => `${name[0]}\u0304${name.slice(1)}`.normalize("NFC");

// The right-hand sides of a program's rows: { symbols, numbers }, as text.
function formulas(doc, now) {
  const forms = { add: ["{0} + {1}", SUM], sub: ["{0} - {1}", SUM], mul: ["{0} × {1}", PRODUCT],
    div: ["{0} / {1}", PRODUCT], power: ["{0}^{1}", POWER], floor_divide: ["{0} // {1}", PRODUCT], mod: ["{0} % {1}", PRODUCT], ...doc.forms };
  const arithmetics = [];
  const at = (digits) => (arithmetics[digits] ??= writing(forms, digits));
  const valueOf = (arg) => (Array.isArray(arg) ? decode(arg[0]) : now().model.values[arg]);
  const symbolic = (node) => node.args.map((arg) => (Array.isArray(arg) ? decode(arg[0]) : named(doc.nodes[arg].name, valueOf(arg))));
  const numeric = (node, digits) => node.args.map((arg) => (Array.isArray(arg) ? decode(arg[0])
    : doc.nodes[arg].op ? computedNumber(valueOf(arg), digits) : typedNumber(valueOf(arg), digits)));

  function value(i) {
    const node = doc.nodes[i];
    const operation = node.op === "mul" ? "times" : node.op;
    return { symbols: at(3)[operation](...symbolic(node)).text,
      numbers: writeTrue((digits) => at(digits)[operation](...numeric(node, digits)), now().model.values[i]) };
  }

  // A local derivative as a formula: of names, or of numbers with so many digits.
  function slope(i, k, digits) {
    const node = doc.nodes[i];
    const own = digits ? computedNumber(now().model.values[i], digits) : named(node.name, now().model.values[i]);
    return slopeOf(doc, node, k, at(digits ?? 3), own, digits ? numeric(node, digits) : symbolic(node));
  }

  // seed × derivative; in a tangent a factor 1 or -1 becomes a sign.
  function push(arithmetic, seed, derivative) {
    if (derivative === 1) return seed;
    return derivative === -1 ? arithmetic.neg(seed) : arithmetic.mul(seed, derivative);
  }

  function tangent(i, dot) {
    const { partials } = now().model;
    const live = doc.nodes[i].args.flatMap((arg, k) => (Array.isArray(arg) || partials[i][k] == null ? [] : [[arg, k]]));
    if (!live.length) return { symbols: "0", numbers: "" };
    // 0 times an infinite slope is 0 where nothing depends on the input, and is written as 0.
    const absent = (arg, k) => !dot[arg] && [Infinity, -Infinity].includes(partials[i][k]) && Number.isFinite(dot[i] ?? 0);
    const sum = (start, digits) => live.map(([arg, k]) => (digits && absent(arg, k) ? written(0, "0")
      : push(at(digits ?? 3), start(arg), slope(i, k, digits)))).reduce(added);
    return { symbols: sum((arg) => named(dotted(doc.nodes[arg].name), dot[arg] ?? 0)).text,
      numbers: writeTrue((digits) => sum((arg) => computedNumber(dot[arg] ?? 0, digits), digits), dot[i] ?? 0) };
  }

  function adjoint({ node, child, k, first, from, before, number }) {
    const sum = (start, old, digits) => {
      const term = at(digits ?? 3).mul(start, slope(child, k, digits));
      return first ? term : added(old, term);
    };
    return { symbols: sum(named(barred(doc.nodes[child].name), from), named(barred(doc.nodes[node].name), before)).text,
      numbers: writeTrue((digits) => sum(computedNumber(from, digits), computedNumber(before ?? 0, digits), digits), number) };
  }

  const slopeText = (i, k) => {
    const found = slope(i, k);
    return found === null ? "0" : at(3).term(found).text;
  };
  return { value, tangent, adjoint, slope: slopeText };
}
