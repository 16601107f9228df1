// exp and log in double from additions, multiplications and divisions alone, so that every CPU and
// compiler yields the same bits; those of the C library depend on both. To about one unit in the
// last place, so that a result rounded to float is almost always the right one.
#ifndef IPULSE_OPS_LIF_CPU_EXACT_MATH_H
#define IPULSE_OPS_LIF_CPU_EXACT_MATH_H

#include <cstdint>
#include <cstring>

namespace lif {

constexpr double LN2_HIGH = 6.93147180369123816490e-01, LN2_LOW = 1.90821492927058770002e-10;

// exp(x) for x <= 0; 0 below -700; NaN for NaN.
inline double exp_of(double x) {
  if (!(x >= -700))
    return x < 0 ? 0.0 : x;
  // To the nearest, as the argument is not positive.
  auto n = static_cast<int64_t>(x * 1.4426950408889634 - 0.5);
  double whole = static_cast<double>(n);
  double r = (x - whole * LN2_HIGH) - whole * LN2_LOW;
  constexpr double LAST = 1.0 / 87178291200; // 1 / 14!
  constexpr double FACTORIALS[] = {1,    1,     2,      6,       24,       120,       720,
                                   5040, 40320, 362880, 3628800, 39916800, 479001600, 6227020800};
  double sum = LAST;
  for (int k = 13; k >= 0; --k)
    sum = sum * r + 1 / FACTORIALS[k];
  int64_t bits = (n + 1023) * (int64_t(1) << 52);
  double power;
  memcpy(&power, &bits, sizeof power);
  return sum * power;
}

// log(x) for a finite x >= 1; NaN for NaN.
inline double log_of(double x) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int64_t exponent = (bits >> 52) - 1023;
  bits = (bits & ((int64_t(1) << 52) - 1)) | int64_t(1023) << 52;
  double m;
  memcpy(&m, &bits, sizeof m);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  double t = (m - 1) / (m + 1), square = t * t, sum = 0;
  for (int k = 23; k > 0; k -= 2)
    sum = sum * square + 1.0 / k;
  double whole = static_cast<double>(exponent);
  return x == x ? whole * LN2_HIGH + (2 * t * sum + whole * LN2_LOW) : x;
}

} // namespace lif

#endif
