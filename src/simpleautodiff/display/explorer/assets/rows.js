// The functions that a page computes by itself. Their derivatives are not written here: those come
// with a program, as trees made by the rules of the table. A test compares every one with Python's.

const LN2 = Math.LN2, PI = Math.PI;
const maximum = (x, y) => (x > y || x !== x ? x : y);
const minimum = (x, y) => (x < y || x !== x ? x : y);
const side = (y) => (y < 0 || Object.is(y, -0) ? -1 : 1);
const sechSquared = (x) => {
  const e = Math.exp(-2 * Math.abs(x));
  return (4 * e) / ((1 + e) * (1 + e));
};
const sigmoid = (x) => {
  const e = Math.exp(-Math.abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
};
const logaddexp = (a, b) =>
  a === b ? a + LN2 : Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)));
const logaddexp2 = (a, b) =>
  a === b ? a + 1 : Math.max(a, b) + Math.log1p(2 ** -Math.abs(a - b)) / LN2;
const mod = (x, y) => {
  const r = x % y;
  return r !== 0 && r < 0 !== y < 0 ? r + y : r;
};
const floorDivide = (x, y) => Math.round((x - mod(x, y)) / y);
const rint = (x) =>
  Math.abs(x - Math.trunc(x)) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x);
const turn = (x) => x - 2 * Math.round(x / 2); // sin(πx) has the period 2

function erf(x) {
  if (Math.abs(x) > 2) return Math.sign(x) * (1 - erfc(Math.abs(x)));
  let term = x, sum = x;
  for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(PI)) * Math.exp(-x * x) * sum;
}

function erfc(x) {
  if (!(x > 1)) return 1 - erf(x);
  let fraction = x; // a continued fraction, from its end
  for (let n = 240; n > 0; n--) fraction = x + n / 2 / fraction;
  return Math.exp(-x * x) / Math.sqrt(PI) / fraction;
}

const BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510];

function lgamma(x) {
  if (x < 0.5) return Math.log(PI / Math.abs(Math.sin(PI * turn(x)))) - lgamma(1 - x);
  let product = 1;
  for (; x < 12; x++) product *= x;
  let sum = (x - 0.5) * Math.log(x) - x + Math.log(2 * PI) / 2;
  BERNOULLI.forEach((b, i) => (sum += b / ((2 * i + 1) * (2 * i + 2) * x ** (2 * i + 1))));
  return sum - Math.log(product);
}

function gamma(x) {
  if (x < 0.5) return PI / (Math.sin(PI * turn(x)) * gamma(1 - x));
  let product = 1;
  if (x === Math.floor(x) && x < 171) {
    for (let k = 2; k < x; k++) product *= k;
    return product;
  }
  for (; x > 2; x--) product *= x - 1;
  return product * Math.exp(lgamma(x));
}

function digamma(x) {
  if (x <= 0) return digamma(1 - x) - PI / Math.tan(PI * turn(x));
  let sum = 0;
  for (; x < 12; x++) sum -= 1 / x;
  sum += Math.log(x) - 1 / (2 * x);
  BERNOULLI.forEach((b, i) => (sum -= b / ((2 * i + 2) * x ** (2 * i + 2))));
  return sum;
}

function polygamma(n, x) {
  if (n === 0) return digamma(x);
  const s = n + 1;
  let sum = 0, factorial = 1;
  for (let k = 2; k <= n; k++) factorial *= k;
  for (; x < 12 + n; x++) sum += x ** -s;
  sum += x ** (1 - s) / n + x ** -s / 2;
  let rising = s;
  let even = 2;
  BERNOULLI.forEach((b, i) => {
    sum += (b / even) * rising * x ** (-s - 2 * i - 1);
    rising *= (s + 2 * i + 1) * (s + 2 * i + 2);
    even *= (2 * i + 3) * (2 * i + 4);
  });
  return (n % 2 ? 1 : -1) * factorial * sum;
}

// Kummer's function for a = 2 and b = 3, which the derivative of boxcox in its power needs.
function hyp1f1(a, b, x) {
  if (a !== 2 || b !== 3) return NaN;
  if (Math.abs(x) > 0.5) return (2 * (Math.exp(x) * x - Math.expm1(x))) / (x * x);
  let term = 1, sum = 0;
  for (let k = 0; k < 25; k++) {
    sum += (2 * term) / (k + 2);
    term *= x / (k + 1);
  }
  return sum;
}

const xlogy = (x, y) => (x === 0 && y === y ? 0 : x * Math.log(y));
const xlog1py = (x, y) => (x === 0 && y === y ? 0 : x * Math.log1p(y));
const boxcox = (x, p) => (p === 0 ? Math.log(x) : Math.expm1(p * Math.log(x)) / p);
const boxcox1p = (x, p) => (p === 0 ? Math.log1p(x) : Math.expm1(p * Math.log1p(x)) / p);
const angle = PI / 180;

const FUNCTIONS = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
  neg: (x) => -x,
  pos: (x) => x,
  power: (x, y) => x ** y,
  floor_divide: floorDivide,
  mod: mod,
  exp: Math.exp,
  expm1: Math.expm1,
  exp2: (x) => 2 ** x,
  log: Math.log,
  log2: Math.log2,
  log10: Math.log10,
  log1p: Math.log1p,
  sqrt: Math.sqrt,
  cbrt: Math.cbrt,
  square: (x) => x * x,
  reciprocal: (x) => 1 / x,
  logaddexp: logaddexp,
  logaddexp2: logaddexp2,
  sigmoid: sigmoid,
  softplus: (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))),
  conj: (x) => x,
  real: (x) => x,
  imag: () => 0,
  abs: Math.abs,
  sign: Math.sign,
  relu: (x) => (x > 0 || x !== x ? x : 0),
  maximum: maximum,
  minimum: minimum,
  fmax: (x, y) => (y !== y ? x : x !== x ? y : maximum(x, y)),
  fmin: (x, y) => (y !== y ? x : x !== x ? y : minimum(x, y)),
  clip: (x, low, high) => minimum(maximum(x, low), high),
  where: (c, x, y) => (c ? x : y),
  copysign: (x, y) => Math.abs(x) * side(y),
  floor: Math.floor,
  ceil: Math.ceil,
  trunc: Math.trunc,
  rint: rint,
  stop_gradient: (x) => x,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  atan2: Math.atan2,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  sech_squared: sechSquared,
  asinh: Math.asinh,
  acosh: Math.acosh,
  atanh: Math.atanh,
  hypot: Math.hypot,
  deg2rad: (x) => x * angle,
  rad2deg: (x) => x / angle,
  erf: erf,
  erfc: erfc,
  gamma: gamma,
  lgamma: lgamma,
  digamma: digamma,
  polygamma: polygamma,
  logit: (x) => Math.log(x / (1 - x)),
  xlogy: xlogy,
  xlog1py: xlog1py,
  entr: (x) => (x < 0 ? -Infinity : -xlogy(x, x)),
  rel_entr: (x, y) => (x < 0 || y <= 0 ? Infinity : x === 0 ? 0 : x * Math.log(x / y)),
  kl_div: (x, y) => (x < 0 || y <= 0 ? Infinity : x === 0 ? y : x * Math.log(x / y) - x + y),
  boxcox: boxcox,
  boxcox1p: boxcox1p,
  sindg: (x) => Math.sin(x * angle),
  cosdg: (x) => Math.cos(x * angle),
  tandg: (x) => Math.tan(x * angle),
  cosm1: (x) => -2 * Math.sin(x / 2) ** 2,
};

// What else stands in the trees of rules: questions, and what rules are made of.
const QUESTIONS = {
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  and: (a, b) => a && b,
  or: (a, b) => a || b,
  not: (a) => !a,
};
const NUMBERS = { ...FUNCTIONS, ...QUESTIONS, hyp1f1, pi: () => PI };

// The value of a tree: an argument by its place, the result "v", a number, null for a derivative
// that is known to be zero, a question, or an operation of `arithmetic`, on numbers or on formulas.
function evaluate(tree, arithmetic, v, args) {
  if (typeof tree === "string") return tree === "v" ? v : args[tree];
  if (!Array.isArray(tree)) return tree;
  const [operation, ...parts] = tree;
  const part = (k) => evaluate(parts[k], arithmetic, v, args);
  if (operation === "?") return part(0) ? part(1) : part(2);
  return arithmetic[operation](...parts.map((_, k) => part(k)));
}

// The local derivative of a node with respect to its argument k.
const slopeOf = (doc, node, k, arithmetic, v, args) => evaluate(doc.rules[node.rule][k], arithmetic, v, args);
