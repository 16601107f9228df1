"""The C++ of a layer with equations, without the equations; source.py puts them in."""

TEMPLATE = """\
// Generated from the equations of a neuron.
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace {{

// TensorFlow's threads take denormal numbers for zeros: within this scope arithmetic is IEEE's.
struct IeeeArithmetic {{
  std::fenv_t before;
  IeeeArithmetic() {{ std::fegetenv(&before), std::fesetenv(FE_DFL_ENV); }}
  ~IeeeArithmetic() {{ std::fesetenv(&before); }}
}};

inline std::uint32_t bits(float value) {{
  std::uint32_t found;
  std::memcpy(&found, &value, sizeof found);
  return found;
}}

inline std::uint32_t not_finite(float value) {{
  return (bits(value) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
}}

[[maybe_unused]] inline float absolute(float x) {{ return std::fabs(x); }}

[[maybe_unused]] inline float root(float x) {{ return std::sqrt(x); }}

// e^x for |x| up to 700, from additions and products alone: the bits of every CPU are equal.
[[maybe_unused]] inline double exponential_of(double x) {{
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
}}

[[maybe_unused]] inline float exponential(float x) {{
  const double bounded = x > 700.0f ? 700.0 : (x < -700.0f ? -700.0 : static_cast<double>(x));
  const float found = static_cast<float>(exponential_of(x == x ? bounded : 0.0));
  return x == x ? found : x;
}}

[[maybe_unused]] inline float tangent(float x) {{
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
}}

// ln x of positive finite x, from additions, products and quotients alone.
[[maybe_unused]] inline double logarithm_of(double x) {{
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
}}

[[maybe_unused]] inline float logarithm(float x) {{
  const bool usual = x > 0.0f && not_finite(x) == 0u;
  const float found = static_cast<float>(logarithm_of(usual ? static_cast<double>(x) : 1.0));
  const float infinite = std::numeric_limits<float>::infinity();
  const float other = x == 0.0f ? -infinite : (x == infinite ? x : infinite - infinite);
  return usual ? found : other;
}}

constexpr std::int64_t STATES = {states}, TRAINED = {trained};
constexpr bool RECURRENT = {recurrent};

}}  // namespace

// Runs samples begin to end - 1. Returns the first step with a value that is not finite, or -1.
// Adds to the current the rows of `recurrent`, [sender][receiver], of the last step's spikes.
extern "C" std::int64_t ipulse_equations_forward(
    float *all_current, const float *parameters, float *all_x, float *all_states,
    [[maybe_unused]] const float *recurrent, std::int64_t steps, std::int64_t batch,
    std::int64_t neurons, std::int64_t begin, std::int64_t end, std::int64_t keeps) {{
  const IeeeArithmetic scope;
  std::int64_t first_bad = -1;
  for (std::int64_t sample = begin; sample < end; ++sample) {{
    for (std::int64_t step = 0; step < steps; ++step) {{
      const std::int64_t row = (step * batch + sample) * neurons;
      float *current = all_current + row;
      float *x = all_x + row;
      if constexpr (RECURRENT) {{
        const float *sent = step ? x - batch * neurons : nullptr;
        for (std::int64_t m = 0; sent != nullptr && m < neurons; ++m) {{
          if (!(sent[m] > 0.0f)) continue;
          const float *weights = recurrent + m * neurons;
#pragma GCC ivdep
          for (std::int64_t n = 0; n < neurons; ++n) current[n] += weights[n];
        }}
      }}
      const std::int64_t here = (keeps ? step * batch + sample : sample) * STATES * neurons;
      const float *before = all_states + here;
      float *after = all_states + here + (keeps ? batch * STATES * neurons : 0);
      std::uint32_t bad = 0;
#pragma GCC ivdep
      for (std::int64_t n = 0; n < neurons; ++n) {{
        const std::int64_t at = n;
{forward}
      }}
      if (bad && (first_bad < 0 || step < first_bad)) first_bad = step;
    }}
  }}
  return first_bad;
}}

// The adjoint of samples begin to end - 1. all_carry, all_sums and all_received are zeros, and
// `recurrent` is [receiver][sender].
extern "C" std::int64_t ipulse_equations_backward(
    const float *all_current, const float *parameters, const float *all_states,
    const float *all_by_spikes, float *all_by_current, float *all_carry, double *all_sums,
    [[maybe_unused]] const float *recurrent, [[maybe_unused]] float *all_received,
    std::int64_t steps, std::int64_t batch, std::int64_t neurons, std::int64_t begin,
    std::int64_t end, std::int64_t truncate) {{
  const IeeeArithmetic scope;
  std::int64_t first_bad = -1;
  for (std::int64_t sample = begin; sample < end; ++sample) {{
    float *carry = all_carry + sample * STATES * neurons;
    [[maybe_unused]] double *sums = all_sums + sample * TRAINED * neurons;
    [[maybe_unused]] float *received = all_received + sample * neurons;
    for (std::int64_t step = steps - 1; step >= 0; --step) {{
      if (truncate > 0 && (step + 1) % truncate == 0) {{
        for (std::int64_t n = 0; n < STATES * neurons; ++n) carry[n] = 0.0f;
      }}
      const std::int64_t row = (step * batch + sample) * neurons;
      const float *current = all_current + row;
      const float *by_spikes = all_by_spikes + row;
      float *by_current = all_by_current + row;
      const float *before = all_states + (step * batch + sample) * STATES * neurons;
      std::uint32_t bad = 0;
#pragma GCC ivdep
      for (std::int64_t n = 0; n < neurons; ++n) {{
        const std::int64_t at = n;
{backward}
      }}
      if constexpr (RECURRENT) {{
        for (std::int64_t m = 0; m < neurons; ++m) received[m] = 0.0f;
        const bool passes = truncate == 0 || step % truncate != 0;
        for (std::int64_t n = 0; passes && n < neurons; ++n) {{
          const float *weights = recurrent + n * neurons;
          const float grad = by_current[n];
#pragma GCC ivdep
          for (std::int64_t m = 0; m < neurons; ++m) received[m] += weights[m] * grad;
        }}
      }}
      if (bad && step > first_bad) first_bad = step;
    }}
  }}
  return first_bad;
}}
"""
