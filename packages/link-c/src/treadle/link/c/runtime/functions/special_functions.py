"""C text, in double, of special functions that SciPy does not publish for C."""

from __future__ import annotations

from treadle.tensor import QUADRATURE

# The algorithms and their numbers are those of `treadle.tensor.special_functions.tail_moments`.
_TABLES = "".join(
    f"static const double tr_rule_{name}[] = {{{', '.join(map(repr, map(float, values)))}}};\n"
    for name, values in zip(("nodes", "weights"), QUADRATURE, strict=True)
)

SPECIAL = {
    # Shifted up by the recurrence, then the asymptotic series (DLMF 5.15.1 and 5.15.8); 5.15.6 below 0.
    "tr_tri_gamma": """\
static double tr_tri_gamma(double x) {
  const double pi = 3.14159265358979323846;
  double sum = 0, r;
  if (x <= 0) {
    // Next to a pole the distance to it, which is exact.
    const double rest = fmin(x - floor(x), ceil(x) - x), sine = sin(pi * rest);
    if (rest == 0 || x == -INFINITY) return INFINITY;
    return pi * pi / (sine * sine) - tr_tri_gamma(1 - x);
  }
  for (; x < 12; x += 1) sum += 1 / (x * x);
  r = 1 / (x * x);
  return sum + (1 + 0.5 / x + r * (1. / 6 - r * (1. / 30 - r * (1. / 42 - r * (1. / 30 - r * (5. / 66
             - r * (691. / 2730 - r * 7 / 6))))))) / x;
}
""",
    # Euler and Maclaurin's sum from 10 on (DLMF 25.11.7 at a = 0).
    "tr_zeta": """\
static double tr_zeta(double s, double q) {
  static const double c[] = {1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160, -691. / 1307674368000,
    1. / 74724249600, -3617. / 10670622842880000, 43867. / 5109094217170944000, -174611. / 802857662698291200000.};
  double sum = 0, power, factor;
  for (; q < 12; q += 1) sum += pow(q, -s);
  if (q == INFINITY) return sum;
  power = pow(q, -s);
  sum += pow(q, 1 - s) / (s - 1) + power * 0.5;
  factor = s * power / q;
  for (int k = 0; k < 10; k++) {
    sum += c[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
  }
  return sum;
}
""",
    # By Hurwitz's zeta function (DLMF 25.11.12); below 0 by its sum over both sides, which has period 1.
    "tr_polygamma": """\
static double tr_polygamma(double n, double x) {
  const double s = n + 1, sign = pow(-1, s);
  double sum;
  if (!(n >= 1 && n < INFINITY) || n != floor(n) || x != x) return NAN;
  if (x > 0) sum = tr_zeta(s, x);
  else {
    // The distances to both poles, which are exact next to them; between them the largest terms may cancel.
    const double rest = x - floor(x), other = ceil(x) - x;
    if (rest == 0 || x == -INFINITY) return sign * INFINITY;
    sum = (pow(rest, -s) + sign * pow(other, -s))
        + ((tr_zeta(s, 1 + rest) + sign * tr_zeta(s, 1 + other)) - sign * tr_zeta(s, 1 - x));
  }
  return sign * tgamma(s) * sum;
}
""",
    # The derivative of Gauss's series by a (by = 0) or c, term by term; near 1 continued as the scalar op says.
    "tr_hyp2f1_series_slope": """\
static double tr_hyp2f1_series_slope(double by, double a, double b, double c, double z, double end) {
  // Up to `turn` a factor may be next to 0, or a divisor, and terms that were small may grow again.
  const double turn = fmax(-a, fmax(-b, -c)), w = z > 0.99 ? 0.9 : z;
  double term = 1, slope = 0, f = 1, df = 0, s = 0, ds = 0;
  if (!(z >= 0 && end > 0 && turn < 100000 && a - a == 0 && b - b == 0 && c - c == 0)) return NAN;
  for (int n = 0;; n++) {
    if (n == 100000) return NAN;
    const double rest = (b + n) / (c + n) * w / (n + 1);
    slope = (by == 0 ? slope * (a + n) + term : (slope - term / (c + n)) * (a + n)) * rest;
    term *= (a + n) * rest;
    f += term, df += (n + 1) * term, s += slope, ds += (n + 1) * slope;
    // A slope may happen to be 0 while the terms go on.
    const double size = (n + 1) * fmax(fabs(slope), fabs(term));
    const int grows = n < turn || fabs((a + n) * rest) >= 1;
    if (!(size > 0 && size < INFINITY && (grows || size > 1e-17 * fabs(ds)))) break;
  }
  if (z <= 0.99) return s;
  df /= w, ds /= w;
  int left = 100000;
  for (double away = 1 - w; away > end;) {
    const double at = 1 - away, h = fmin(away - end, away / 2);
    double f0 = f, f1 = df * h, s0 = s, s1 = ds * h;
    f += f1, s += s1, df = f1, ds = s1;
    for (int k = 0, was_small = 0;; k++) {
      if (left-- == 0) return NAN;
      const double scale = at * away * (k + 1.) * (k + 2) / h;
      const double drag = ((2 * away - 1) * k + c - (a + b + 1) * at) * (k + 1), pull = (k + a) * (k + b) * h;
      const double own = by == 0 ? (k + b) * h * f0 + at * (k + 1) * f1 : -(k + 1) * f1;
      const double f2 = (pull * f0 - drag * f1) / scale, s2 = (pull * s0 - drag * s1 + own) / scale;
      f0 = f1, f1 = f2, s0 = s1, s1 = s2;
      f += f1, df += (k + 2) * f1, s += s1, ds += (k + 2) * s1;
      // One of them may happen to be 0 while the others go on.
      const int is_small = !((k + 2) * fmax(fabs(f1), fabs(s1)) > 1e-17 * fabs(ds));
      if (is_small && was_small) break;
      was_small = is_small;
    }
    df /= h, ds /= h, away -= h;
  }
  return s;
}
""",
    "tr_rule_nodes tr_rule_weights": _TABLES,
    "tr_gamma_exponent": """\
static inline double tr_gamma_exponent(double u, double side, double slope, double x) {
  const double v = side * u;
  const double part = u >= 0.05 ? v + expm1(-v) : v * v * (1. / 2 - v * (1. / 6 - v * (1. / 24 - v * (1. / 120
    - v * (1. / 720 - v * (1. / 5040 - v / 40320))))));
  return slope * u + x * part;
}
""",
    "tr_gamma_tail_moment": """\
static double tr_gamma_tail_moment(double k, double a, double x) {
  const double side = x <= a ? 1 : -1, slope = fabs(a - x);
  double end = 80 / (slope + sqrt(slope * slope + 80 * x)), sum = 0;
  for (int i = 0; i < 12; i++)
    end -= (tr_gamma_exponent(end, side, slope, x) - 40) / (slope - side * x * expm1(-side * end));
  for (int i = 0; i < 48; i++) {
    const double u = end * tr_rule_nodes[i];
    sum += tr_rule_weights[i] * (k == 0 ? 1 : k == 1 ? u : u * u) * exp(-tr_gamma_exponent(u, side, slope, x));
  }
  return end * sum;
}
""",
    "tr_cumulant": """\
static inline double tr_cumulant(double q, double p, double u) {
  const double c = q * p;
  if (fabs(u) >= 0.003) return log1p(q * expm1(u)) - q * u;
  return u * u * (c / 2 + u * (c * (p - q) / 6 + u * (c * (1 - 6 * c) / 24
       + u * (c * (p - q) * (1 - 12 * c) / 120 + u * (c * (1 - 30 * c * (1 - 4 * c)) / 720)))));
}
""",
    "tr_beta_exponent": """\
static inline double tr_beta_exponent(double u, double a, double b, double x, double y) {
  return (a * y - b * x) * u + a * tr_cumulant(y, x, u) + b * tr_cumulant(x, y, -u);
}
""",
    "tr_beta_tail_moment": """\
static double tr_beta_tail_moment(double j, double k, double a, double b, double x, double y) {
  const double slope = a * y - b * x;
  double end = 80 / (slope + sqrt(slope * slope + 80 * (a + b) * x * y)), sum = 0;
  if (!(end < 700)) end = 700;
  for (int i = 0; i < 12; i++) {
    const double growth = exp(end);
    end -= (tr_beta_exponent(end, a, b, x, y) - 40) / ((a * y * growth - b * x) / (x + y * growth));
  }
  for (int i = 0; i < 48; i++) {
    const double u = end * tr_rule_nodes[i];
    const double f = log1p(y * expm1(u)), g = -log1p(x * expm1(-u));
    sum += tr_rule_weights[i] * exp(-tr_beta_exponent(u, a, b, x, y))
         * (j == 0 ? 1 : j == 1 ? f : f * f) * (k == 0 ? 1 : k == 1 ? g : g * g);
  }
  return end * sum;
}
""",
}
