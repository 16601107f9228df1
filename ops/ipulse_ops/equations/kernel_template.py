"""The C++ of a layer with equations, without the equations; source.py puts them in."""

TEMPLATE = """\
// Generated from the equations of a neuron.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

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
// Of a recurrent convolution: the sizes of the neurons' planes, of the kernel, and of the padding
// before the first row and column.
constexpr bool CONVOLVES = {convolves};
[[maybe_unused]] constexpr std::int64_t HEIGHT = {height}, WIDTH = {width}, FILTERS = {filters},
    ROWS = {rows}, COLUMNS = {columns}, ABOVE = {above}, BEFORE = {before_columns};
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

// Marks the neurons with an x above 0, at most `capacity`: ascending from `first`, or with -1 those
// with the highest x.
[[maybe_unused]] void mark_senders(const float *x, std::int64_t neurons, std::int64_t capacity,
                                   std::int64_t first, float *sent) {{
  std::int64_t left = capacity;
  if (first >= 0) {{
    for (std::int64_t k = 0; k < neurons; ++k) {{
      const std::int64_t n = k + first < neurons ? k + first : k + first - neurons;
      sent[n] = left > 0 && x[n] > 0.0f ? 1.0f : 0.0f;
      left -= sent[n] > 0.0f ? 1 : 0;
    }}
    return;
  }}
  std::vector<std::int64_t> ids;
  for (std::int64_t n = 0; n < neurons; ++n) {{
    sent[n] = 0.0f;
    if (x[n] > 0.0f) ids.push_back(n);
  }}
  std::stable_sort(ids.begin(), ids.end(),
                   [x](std::int64_t a, std::int64_t b) {{ return x[a] > x[b]; }});
  for (const std::int64_t n : ids) sent[n] = left-- > 0 ? 1.0f : 0.0f;
}}

// Adds the weights of neuron m to those that it reaches; `weights` are [row][column][from][to].
[[maybe_unused]] void send(const float *weights, std::int64_t m, float *current) {{
  const std::int64_t from = m % FILTERS, x = m / FILTERS % WIDTH, y = m / FILTERS / WIDTH;
  for (std::int64_t row = 0; row < ROWS; ++row) {{
    const std::int64_t to_y = y + ABOVE - row;
    if (to_y < 0 || to_y >= HEIGHT) continue;
    for (std::int64_t column = 0; column < COLUMNS; ++column) {{
      const std::int64_t to_x = x + BEFORE - column;
      if (to_x < 0 || to_x >= WIDTH) continue;
      const float *taps = weights + ((row * COLUMNS + column) * FILTERS + from) * FILTERS;
      float *to = current + (to_y * WIDTH + to_x) * FILTERS;
#pragma GCC ivdep
      for (std::int64_t f = 0; f < FILTERS; ++f) to[f] += taps[f];
    }}
  }}
}}

// Sums for each neuron the gradients of what it reaches; `weights` are [row][column][to][from].
[[maybe_unused]] void receive(const float *weights, const float *by_current, float *received) {{
  for (std::int64_t y = 0; y < HEIGHT; ++y) {{
    for (std::int64_t x = 0; x < WIDTH; ++x) {{
      float sums[FILTERS] = {{}};
      for (std::int64_t row = 0; row < ROWS; ++row) {{
        const std::int64_t to_y = y + ABOVE - row;
        if (to_y < 0 || to_y >= HEIGHT) continue;
        for (std::int64_t column = 0; column < COLUMNS; ++column) {{
          const std::int64_t to_x = x + BEFORE - column;
          if (to_x < 0 || to_x >= WIDTH) continue;
          const float *taps = weights + (row * COLUMNS + column) * FILTERS * FILTERS;
          const float *grads = by_current + (to_y * WIDTH + to_x) * FILTERS;
          for (std::int64_t to = 0; to < FILTERS; ++to, taps += FILTERS) {{
            for (std::int64_t f = 0; f < FILTERS; ++f) sums[f] += taps[f] * grads[to];
          }}
        }}
      }}
      float *own = received + (y * WIDTH + x) * FILTERS;
      for (std::int64_t f = 0; f < FILTERS; ++f) own[f] = sums[f];
    }}
  }}
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
// Adds to the current the rows of `recurrent`, [sender][receiver] or a kernel
// [row][column][sender][receiver], of the last step's spikes; with all_sent, [batch][neurons], of
// at most `capacity`, in each step from firsts [step][batch] on. With
// all_ids, x is [batch][neurons] for the present step, and neurons are listed.
extern "C" std::int64_t ipulse_equations_forward(
    float *all_current, const float *parameters, float *all_x, float *all_states,
    [[maybe_unused]] const float *recurrent, float *all_ids, float *all_counts,
    [[maybe_unused]] float *all_sent, [[maybe_unused]] const std::int64_t *firsts,
    std::int64_t steps, std::int64_t batch, std::int64_t neurons, std::int64_t begin,
    std::int64_t end, std::int64_t keeps, [[maybe_unused]] std::int64_t capacity) {{
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
        if (all_sent != nullptr && step) {{
          float *marks = all_sent + sample * neurons;
          mark_senders(former, neurons, capacity, firsts[(step - 1) * batch + sample], marks);
          sent = marks;
        }}
        for (std::int64_t m = 0; sent != nullptr && m < neurons; ++m) {{
          if (!(sent[m] > 0.0f)) continue;
          if constexpr (CONVOLVES) {{
            send(recurrent, m, current);
            continue;
          }}
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
// `recurrent` is transposed: [receiver][sender]. With all_slots, [step][batch][neurons], neurons
// where it is 0 receive nothing. With all_ids, all_by_spikes are numbers of slots.
extern "C" std::int64_t ipulse_equations_backward(
    const float *all_current, const float *parameters, const float *all_states,
    const float *all_by_spikes, float *all_by_current, float *all_carry, double *all_sums,
    [[maybe_unused]] const float *recurrent, [[maybe_unused]] float *all_received,
    const float *all_ids, const float *all_counts, float *all_taken,
    [[maybe_unused]] const float *all_slots, std::int64_t steps, std::int64_t batch,
    std::int64_t neurons, std::int64_t begin, std::int64_t end, std::int64_t truncate) {{
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
        if (CONVOLVES && passes) receive(recurrent, by_current, received);
        for (std::int64_t n = 0; !CONVOLVES && passes && n < neurons; ++n) {{
          const float *weights = recurrent + n * neurons;
          const float grad = by_current[n];
#pragma GCC ivdep
          for (std::int64_t m = 0; m < neurons; ++m) received[m] += weights[m] * grad;
        }}
        if (all_slots != nullptr && step) {{
          const float *slots = all_slots + ((step - 1) * batch + sample) * neurons;
          for (std::int64_t m = 0; m < neurons; ++m) {{
            if (slots[m] == 0.0f) received[m] = 0.0f;
          }}
        }}
      }}
      if (bad && step > first_bad) first_bad = step;
    }}
  }}
  return first_bad;
}}
"""
