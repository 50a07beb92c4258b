// The rows of the table that a page computes by itself: a value f(x, ...) and, for each argument,
// the local derivative d(v, x, ...); null is a derivative that is known to be zero.
// A test compares every row with Python's.

const LN2 = Math.LN2, LN10 = Math.LN10, PI = Math.PI;
const larger = (x, y) => (x > y ? 1 : x < y ? null : x === y ? 0.5 : x + y);
const maximum = (x, y) => (x > y || x !== x ? x : y);
const minimum = (x, y) => (x < y || x !== x ? x : y);
const unlessNaN = (x, y, share) => (y !== y ? 1 : x !== x ? null : share(x, y));
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

function sinc(x) {
  return x === 0 ? 1 : Math.sin(PI * turn(x)) / (PI * x);
}

function sincSlope(x) {
  const t = PI * x;
  if (Math.abs(t) > 1) return (Math.cos(PI * turn(x)) - sinc(x)) / x;
  let term = -t, sum = 0; // Σ (-1)ᵏ t²ᵏ⁻¹ / ((2k + 1) (2k - 1)!)
  for (let k = 1; k < 14; k++) {
    sum += term / (2 * k + 1);
    term *= (-t * t) / ((2 * k) * (2 * k + 1));
  }
  return PI * sum;
}

const xlogy = (x, y) => (x === 0 && y === y ? 0 : x * Math.log(y));
const xlog1py = (x, y) => (x === 0 && y === y ? 0 : x * Math.log1p(y));
const boxcox = (x, p) => (p === 0 ? Math.log(x) : Math.expm1(p * Math.log(x)) / p);
const boxcox1p = (x, p) => (p === 0 ? Math.log1p(x) : Math.expm1(p * Math.log1p(x)) / p);
const angle = PI / 180;
const curve = (p, l) => {
  const u = p * l; // ∂/∂p of expm1(p l)/p
  if (Math.abs(u) > 0.5) return (l * Math.exp(u) * p - Math.expm1(u)) / (p * p);
  let term = 1, sum = 0;
  for (let k = 0; k < 25; k++) {
    sum += term / (k + 2);
    term *= u / (k + 1);
  }
  return l * l * sum;
};

const ROWS = {
  add: { f: (x, y) => x + y, d: [1, 1] },
  sub: { f: (x, y) => x - y, d: [1, -1] },
  mul: { f: (x, y) => x * y, d: [(v, x, y) => y, (v, x) => x] },
  div: { f: (x, y) => x / y, d: [(v, x, y) => 1 / y, (v, x, y) => -v * (1 / y)] },
  neg: { f: (x) => -x, d: [-1] },
  pos: { f: (x) => x, d: [1] },
  power: {
    f: (x, y) => x ** y,
    d: [
      (v, x, y) => (y === 2 ? 2 * x : y ? y * x ** (y - 1) : null),
      (v, x, y) => (x === 0 && y > 0 ? null : v * Math.log(x)),
    ],
  },
  floor_divide: { f: floorDivide, d: [null, null] },
  mod: { f: mod, d: [1, (v, x, y) => -floorDivide(x, y)] },
  exp: { f: Math.exp, d: [(v) => v] },
  expm1: { f: Math.expm1, d: [(v, x) => Math.exp(x)] },
  exp2: { f: (x) => 2 ** x, d: [(v) => v * LN2] },
  log: { f: Math.log, d: [(v, x) => 1 / x] },
  log2: { f: Math.log2, d: [(v, x) => 1 / (x * LN2)] },
  log10: { f: Math.log10, d: [(v, x) => 1 / (x * LN10)] },
  log1p: { f: Math.log1p, d: [(v, x) => 1 / (1 + x)] },
  sqrt: { f: Math.sqrt, d: [(v) => 1 / (2 * v)] },
  cbrt: { f: Math.cbrt, d: [(v) => 1 / (3 * v * v)] },
  square: { f: (x) => x * x, d: [(v, x) => 2 * x] },
  reciprocal: { f: (x) => 1 / x, d: [(v) => -v * v] },
  logaddexp: { f: logaddexp, d: [(v, a) => Math.exp(a - v), (v, a, b) => Math.exp(b - v)] },
  logaddexp2: { f: logaddexp2, d: [(v, a) => 2 ** (a - v), (v, a, b) => 2 ** (b - v)] },
  sigmoid: { f: sigmoid, d: [(v, x) => v * sigmoid(-x)] },
  softplus: {
    f: (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))),
    d: [(v, x) => sigmoid(x)],
  },
  conj: { f: (x) => x, d: [1] },
  real: { f: (x) => x, d: [1] },
  imag: { f: () => 0, d: [null] },
  abs: { f: Math.abs, d: [(v, x) => Math.sign(x)] },
  sign: { f: Math.sign, d: [null] },
  relu: { f: (x) => (x > 0 || x !== x ? x : 0), d: [(v, x) => (x > 0 ? 1 : x <= 0 ? null : v)] },
  maximum: { f: maximum, d: [(v, x, y) => larger(x, y), (v, x, y) => larger(y, x)] },
  minimum: { f: minimum, d: [(v, x, y) => larger(y, x), (v, x, y) => larger(x, y)] },
  fmax: {
    f: (x, y) => (y !== y ? x : x !== x ? y : maximum(x, y)),
    d: [(v, x, y) => unlessNaN(x, y, larger), (v, x, y) => unlessNaN(y, x, larger)],
  },
  fmin: {
    f: (x, y) => (y !== y ? x : x !== x ? y : minimum(x, y)),
    d: [
      (v, x, y) => unlessNaN(x, y, (a, b) => larger(b, a)),
      (v, x, y) => unlessNaN(y, x, (a, b) => larger(b, a)),
    ],
  },
  clip: {
    f: (x, low, high) => minimum(maximum(x, low), high),
    d: [
      (v, x, low, high) =>
        x < low || x > high ? null : x === low || x === high ? 0.5 : x === x ? 1 : x,
      (v, x, low) => (x < low ? 1 : x === low ? 0.5 : null),
      (v, x, low, high) => (x > high ? 1 : x === high ? 0.5 : null),
    ],
  },
  where: {
    f: (c, x, y) => (c ? x : y),
    d: [null, (v, c) => (c ? 1 : null), (v, c) => (c ? null : 1)],
  },
  copysign: {
    f: (x, y) => Math.abs(x) * side(y),
    d: [(v, x, y) => Math.sign(x) * side(y), null],
  },
  floor: { f: Math.floor, d: [null] },
  ceil: { f: Math.ceil, d: [null] },
  trunc: { f: Math.trunc, d: [null] },
  rint: { f: rint, d: [null] },
  stop_gradient: { f: (x) => x, d: [null] },
  sin: { f: Math.sin, d: [(v, x) => Math.cos(x)] },
  cos: { f: Math.cos, d: [(v, x) => -Math.sin(x)] },
  tan: { f: Math.tan, d: [(v) => 1 + v * v] },
  asin: { f: Math.asin, d: [(v, x) => 1 / Math.sqrt((1 - x) * (1 + x))] },
  acos: { f: Math.acos, d: [(v, x) => -1 / Math.sqrt((1 - x) * (1 + x))] },
  atan: { f: Math.atan, d: [(v, x) => 1 / (1 + x * x)] },
  atan2: {
    f: Math.atan2,
    d: [
      (v, y, x) => (x === 0 && y === 0 ? null : x / Math.hypot(x, y) / Math.hypot(x, y)),
      (v, y, x) => (x === 0 && y === 0 ? null : -y / Math.hypot(x, y) / Math.hypot(x, y)),
    ],
  },
  sinh: { f: Math.sinh, d: [(v, x) => Math.cosh(x)] },
  cosh: { f: Math.cosh, d: [(v, x) => Math.sinh(x)] },
  tanh: { f: Math.tanh, d: [(v, x) => sechSquared(x)] },
  sech_squared: { f: sechSquared, d: [(v, x) => -2 * Math.tanh(x) * v] },
  asinh: { f: Math.asinh, d: [(v, x) => 1 / Math.hypot(1, x)] },
  acosh: { f: Math.acosh, d: [(v, x) => 1 / (Math.sqrt(x - 1) * Math.sqrt(x + 1))] },
  atanh: { f: Math.atanh, d: [(v, x) => 1 / ((1 - x) * (1 + x))] },
  hypot: {
    f: Math.hypot,
    d: [(v, x) => (v === 0 ? null : x / v), (v, x, y) => (v === 0 ? null : y / v)],
  },
  deg2rad: { f: (x) => x * angle, d: [angle] },
  rad2deg: { f: (x) => x / angle, d: [1 / angle] },
  erf: { f: erf, d: [(v, x) => (2 / Math.sqrt(PI)) * Math.exp(-x * x)] },
  erfc: { f: erfc, d: [(v, x) => (-2 / Math.sqrt(PI)) * Math.exp(-x * x)] },
  gamma: { f: gamma, d: [(v, x) => v * digamma(x)] },
  lgamma: { f: lgamma, d: [(v, x) => digamma(x)] },
  digamma: { f: digamma, d: [(v, x) => polygamma(1, x)] },
  polygamma: { f: polygamma, d: [null, (v, n, x) => polygamma(n + 1, x)] },
  sinc: { f: sinc, d: [(v, x) => sincSlope(x)] },
  logit: { f: (x) => Math.log(x / (1 - x)), d: [(v, x) => 1 / (x * (1 - x))] },
  xlogy: {
    f: xlogy,
    d: [(v, x, y) => (x || y ? Math.log(y) : null), (v, x, y) => (x || y ? x / y : null)],
  },
  xlog1py: {
    f: xlog1py,
    d: [
      (v, x, y) => (x || y !== -1 ? Math.log1p(y) : null),
      (v, x, y) => (x || y !== -1 ? x / (1 + y) : null),
    ],
  },
  entr: { f: (x) => (x < 0 ? -Infinity : -xlogy(x, x)), d: [(v, x) => -Math.log(x) - 1] },
  rel_entr: {
    f: (x, y) => (x < 0 || y <= 0 ? Infinity : x === 0 ? 0 : x * Math.log(x / y)),
    d: [(v, x, y) => Math.log(x / y) + 1, (v, x, y) => -x / y],
  },
  kl_div: {
    f: (x, y) =>
      x < 0 || y <= 0 ? Infinity : x === 0 ? y : x * Math.log(x / y) - x + y,
    d: [(v, x, y) => Math.log(x / y), (v, x, y) => 1 - x / y],
  },
  boxcox: {
    f: boxcox,
    d: [(v, x, p) => x ** (p - 1), (v, x, p) => (x ? curve(p, Math.log(x)) : 1 / (p * p))],
  },
  boxcox1p: {
    f: boxcox1p,
    d: [
      (v, x, p) => Math.exp((p - 1) * Math.log1p(x)),
      (v, x, p) => (x === -1 ? 1 / (p * p) : curve(p, Math.log1p(x))),
    ],
  },
  sindg: { f: (x) => Math.sin(x * angle), d: [(v, x) => angle * Math.cos(x * angle)] },
  cosdg: { f: (x) => Math.cos(x * angle), d: [(v, x) => -angle * Math.sin(x * angle)] },
  tandg: { f: (x) => Math.tan(x * angle), d: [(v) => angle * (1 + v * v)] },
  cosm1: { f: (x) => -2 * Math.sin(x / 2) ** 2, d: [(v, x) => -Math.sin(x)] },
};
