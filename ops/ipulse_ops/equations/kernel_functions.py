"""The C++ of the functions in equations, for kernel_template.py."""

FUNCTIONS = """\
inline std::uint32_t bits(float value) {
  std::uint32_t found;
  std::memcpy(&found, &value, sizeof found);
  return found;
}

inline std::uint32_t not_finite(float value) {
  return (bits(value) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
}

[[maybe_unused]] inline float absolute(float x) { return std::fabs(x); }

[[maybe_unused]] inline float root(float x) { return std::sqrt(x); }

// e^x for |x| up to 700, from additions and products alone: the bits of every CPU are equal.
[[maybe_unused]] inline double exponential_of(double x) {
  const double magic = 0x1.8p52;
  const double shifted = x * 1.4426950408889634 + magic;
  const double n = shifted - magic;
  const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double sum = 1.0 / 87178291200.0;
  sum = sum * r + 1.0 / 6227020800.0;
  sum = sum * r + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 0.5;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  std::uint64_t low;
  std::memcpy(&low, &shifted, sizeof low);
  const std::uint64_t scale_bits = (low + 1023) << 52;
  double scale;
  std::memcpy(&scale, &scale_bits, sizeof scale);
  return sum * scale;
}

[[maybe_unused]] inline float exponential(float x) {
  const double bounded = x > 700.0f ? 700.0 : (x < -700.0f ? -700.0 : static_cast<double>(x));
  const float found = static_cast<float>(exponential_of(x == x ? bounded : 0.0));
  return x == x ? found : x;
}

[[maybe_unused]] inline float tangent(float x) {
  const double wide = x, size = std::fabs(wide), square = wide * wide;
  const double bounded = size < 300.0 ? size : 300.0;
  const double fall = exponential_of(-2.0 * bounded);
  const double large = (1.0 - fall) / (1.0 + fall);
  double series = 62.0 / 2835.0;
  series = series * square + -17.0 / 315.0;
  series = series * square + 2.0 / 15.0;
  series = series * square + -1.0 / 3.0;
  series = series * square + 1.0;
  const double signed_large = wide < 0.0 ? -large : large;
  const float found = static_cast<float>(size < 0.05 ? wide * series : signed_large);
  return x == x ? found : x;
}

// ln x of positive finite x, from additions, products and quotients alone.
[[maybe_unused]] inline double logarithm_of(double x) {
  std::uint64_t all;
  std::memcpy(&all, &x, sizeof all);
  const std::int64_t exponent = static_cast<std::int64_t>(all >> 52) - 1022;
  const std::uint64_t fraction_bits = (all & 0x000fffffffffffffu) | 0x3fe0000000000000u;
  double fraction;  // of 0.5 to 1
  std::memcpy(&fraction, &fraction_bits, sizeof fraction);
  const bool low = fraction < 0.7071067811865476;
  const double m = low ? 2.0 * fraction : fraction;
  const double n = static_cast<double>(exponent - (low ? 1 : 0));
  const double t = (m - 1.0) / (m + 1.0), square = t * t;
  double sum = 1.0 / 23.0;
  sum = sum * square + 1.0 / 21.0;
  sum = sum * square + 1.0 / 19.0;
  sum = sum * square + 1.0 / 17.0;
  sum = sum * square + 1.0 / 15.0;
  sum = sum * square + 1.0 / 13.0;
  sum = sum * square + 1.0 / 11.0;
  sum = sum * square + 1.0 / 9.0;
  sum = sum * square + 1.0 / 7.0;
  sum = sum * square + 1.0 / 5.0;
  sum = sum * square + 1.0 / 3.0;
  sum = sum * square + 1.0;
  return n * 6.93147180369123816490e-01 + (2.0 * t * sum + n * 1.90821492927058770002e-10);
}

[[maybe_unused]] inline float logarithm(float x) {
  const bool usual = x > 0.0f && not_finite(x) == 0u;
  const float found = static_cast<float>(logarithm_of(usual ? static_cast<double>(x) : 1.0));
  const float infinite = std::numeric_limits<float>::infinity();
  const float other = x == 0.0f ? -infinite : (x == infinite ? x : infinite - infinite);
  return usual ? found : other;
}"""
