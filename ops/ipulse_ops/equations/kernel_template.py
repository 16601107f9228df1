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

{functions}

constexpr std::int64_t STATES = {states}, TRAINED = {trained};
constexpr bool RECURRENT = {recurrent};
constexpr bool GATED = {gated};
[[maybe_unused]] constexpr float GATE = {gate};

// Lists the neurons with an x above 0, then the others that carry gradient, both ascending.
void list_neurons(const float *x, std::int64_t neurons, float *ids, float *counts) {{
  constexpr std::int64_t BLOCK = 16;
  std::int64_t spikes = 0;
  for (std::int64_t first = 0; first < neurons; first += BLOCK) {{
    const std::int64_t last = first + BLOCK < neurons ? first + BLOCK : neurons;
    std::uint32_t any = 0;
    for (std::int64_t n = first; n < last; ++n) any |= x[n] > 0.0f ? 1u : 0u;
    for (std::int64_t n = first; any && n < last; ++n) {{
      if (x[n] > 0.0f) ids[spikes++] = static_cast<float>(n);
    }}
  }}
  if constexpr (GATED) {{
    std::int64_t filled = spikes;
    for (std::int64_t n = 0; n < neurons; ++n) {{
      if (x[n] > GATE && !(x[n] > 0.0f)) ids[filled++] = static_cast<float>(n);
    }}
    for (std::int64_t k = filled; k < neurons; ++k) ids[k] = 0.0f;
    counts[0] = static_cast<float>(spikes), counts[1] = static_cast<float>(filled);
    return;
  }}
  float *rest = ids + spikes;
  int from = 0;
  for (std::int64_t k = 0; k <= spikes; ++k) {{
    const int to = k < spikes ? static_cast<int>(ids[k]) : static_cast<int>(neurons);
    const int count = to - from;
    for (int at = 0; at < count; ++at) rest[at] = static_cast<float>(from + at);
    rest += count, from = to + 1;
  }}
  counts[0] = static_cast<float>(spikes), counts[1] = static_cast<float>(neurons);
}}

// Gives each neuron the number of its slot; 0 without one.
void take_slots(const float *ids, const float *counts, const float *slots, std::int64_t neurons,
                float *values) {{
  const auto spikes = static_cast<std::int64_t>(counts[0]);
  if constexpr (GATED) {{
    const auto filled = static_cast<std::int64_t>(counts[1]);
    for (std::int64_t n = 0; n < neurons; ++n) values[n] = 0.0f;
    for (std::int64_t k = 0; k < filled; ++k) values[static_cast<int>(ids[k])] = slots[k];
    return;
  }}
  const float *rest = slots + spikes;
  int from = 0;
  for (std::int64_t k = 0; k <= spikes; ++k) {{
    const int to = k < spikes ? static_cast<int>(ids[k]) : static_cast<int>(neurons);
    const int count = to - from;
#pragma GCC ivdep
    for (int at = 0; at < count; ++at) values[from + at] = rest[at];
    if (k < spikes) values[to] = slots[k];
    rest += count, from = to + 1;
  }}
}}

}}  // namespace

// Runs samples begin to end - 1. Returns the first step with a value that is not finite, or -1.
// Adds to the current the rows of `recurrent`, [sender][receiver], of the last step's spikes. With
// all_ids, x is [batch][neurons] for the present step, and neurons are listed.
extern "C" std::int64_t ipulse_equations_forward(
    float *all_current, const float *parameters, float *all_x, float *all_states,
    [[maybe_unused]] const float *recurrent, float *all_ids, float *all_counts,
    std::int64_t steps, std::int64_t batch, std::int64_t neurons, std::int64_t begin,
    std::int64_t end, std::int64_t keeps) {{
  const IeeeArithmetic scope;
  std::int64_t first_bad = -1;
  for (std::int64_t sample = begin; sample < end; ++sample) {{
    for (std::int64_t step = 0; step < steps; ++step) {{
      const std::int64_t row = (step * batch + sample) * neurons;
      float *current = all_current + row;
      float *x = all_x + (all_ids ? sample * neurons : row);
      if constexpr (RECURRENT) {{
        const float *former = all_ids ? x : x - batch * neurons;
        const float *sent = step ? former : nullptr;
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
      if (all_ids) {{
        list_neurons(x, neurons, all_ids + row, all_counts + 2 * (step * batch + sample));
      }}
      if (bad && (first_bad < 0 || step < first_bad)) first_bad = step;
    }}
  }}
  return first_bad;
}}

// The adjoint of samples begin to end - 1. all_carry, all_sums and all_received are zeros, and
// `recurrent` is [receiver][sender]. With all_ids, all_by_spikes are numbers of slots.
extern "C" std::int64_t ipulse_equations_backward(
    const float *all_current, const float *parameters, const float *all_states,
    const float *all_by_spikes, float *all_by_current, float *all_carry, double *all_sums,
    [[maybe_unused]] const float *recurrent, [[maybe_unused]] float *all_received,
    const float *all_ids, const float *all_counts, float *all_taken, std::int64_t steps,
    std::int64_t batch, std::int64_t neurons, std::int64_t begin, std::int64_t end,
    std::int64_t truncate) {{
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
      if (all_ids) {{
        const float *counts = all_counts + 2 * (step * batch + sample);
        float *taken = all_taken + sample * neurons;
        take_slots(all_ids + row, counts, by_spikes, neurons, taken);
        by_spikes = taken;
      }}
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
