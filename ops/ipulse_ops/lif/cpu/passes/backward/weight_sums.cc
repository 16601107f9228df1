#include "weight_sums.h"

#include <algorithm>

#include "passes/layout.h"
#include "support/pool.h"

namespace lif {
namespace {

// Bytes of dL/dI that one group of rows takes in a panel, and of the sums: they share an L2 cache,
// with the next group. One group alone needs no sums, so that its rows may take their place.
constexpr int64_t GROUP_BYTES = 256 << 10, SUM_BYTES = 512 << 10;

// Eight lanes are the fewest of a kernel.
static_assert(SUM_BYTES / (4 * 8) <= 1 << 16, "a row's number in its group takes sixteen bits");

// Spikes of a channel per group that amortise reading and writing its sum.
constexpr int64_t GROUP_SPIKES = 24;

int64_t rows_of_group(const BackwardCall &call, const GradCurrent &current, const Spikes &spikes,
                      int channels) {
  int64_t row_bytes = 4 * current.panels.width, steps = call.n.steps;
  int64_t most = (call.rows * row_bytes <= SUM_BYTES ? SUM_BYTES : GROUP_BYTES) / row_bytes;
  if (!current.deferred)
    return std::max<int64_t>(1, most);
  // Whole samples, and no more than needed: they are computed in the worker's scratch memory.
  int64_t all = std::max<int64_t>(1, spikes.start[call.rows]);
  int64_t rows = GROUP_SPIKES * channels * call.rows / all;
  return std::max<int64_t>(1, std::min(most, rows + steps - 1) / steps) * steps;
}

// The rows in which the spikes of each channel arrive, by group of rows.
struct Arrivals {
  int channels;
  int groups;
  int64_t group_rows;
  std::unique_ptr<Buffer<int64_t>> start; // [groups][channels + 1]
  std::unique_ptr<Buffer<uint16_t>> rows;
};

// A counting sort of each group's spikes. Reading dL/dI channel by channel keeps the sum in
// registers; adding each spike's row where it falls would write it back every time.
Arrivals sort_by_channel(const BackwardCall &call, const GradCurrent &current, const Spikes &spikes,
                         int channels, int delay) {
  const LifNetwork &n = call.n;
  Arrivals a;
  a.channels = channels;
  a.group_rows = rows_of_group(call, current, spikes, channels);
  a.groups = std::max(1, static_cast<int>((call.rows + a.group_rows - 1) / a.group_rows));
  a.start.reset(new Buffer<int64_t>(int64_t(a.groups) * (channels + 1)));
  a.rows.reset(new Buffer<uint16_t>(spikes.start[call.rows]));
  Buffer<uint32_t> all_positions(int64_t(call.threads) * channels);
  parallel_for(call.threads, a.groups, [&](int64_t g, int worker) {
    int64_t first = g * a.group_rows, last = std::min(first + a.group_rows, call.rows);
    int64_t *start = a.start->get() + g * (channels + 1);
    // Counts, and then where a channel's next row goes, from the group's own place on.
    uint32_t *position = all_positions.get() + int64_t(worker) * channels;
    std::fill(position, position + channels, 0u);
    const int32_t *ids = spikes.ids;
    const int64_t *begin = spikes.start.get();
    // Calls visit(first, last) for the longest runs of rows with spikes that arrive.
    auto for_runs = [&](auto visit) {
      for (int64_t row = first; row < last;) {
        int64_t next = std::min(last, (row / n.steps + 1) * n.steps), stop = next;
        if (next % n.steps == 0)
          stop = std::max(row, next - delay);
        visit(row, stop);
        row = next;
      }
    };
    for_runs([=](int64_t row, int64_t stop) {
      for (int64_t k = begin[row], all = begin[stop]; k < all; ++k)
        ++position[ids[k]];
    });
    uint32_t total = 0;
    for (int i = 0; i < channels; ++i) {
      uint32_t count = position[i];
      start[i] = spikes.start[first] + total;
      position[i] = total;
      total += count;
    }
    start[channels] = spikes.start[first] + total;
    uint16_t *rows = a.rows->get() + spikes.start[first];
    for_runs([=](int64_t row, int64_t stop) {
      for (; row < stop; ++row) {
        auto place = static_cast<uint16_t>(row + delay - first);
        for (int64_t k = begin[row], all = begin[row + 1]; k < all; ++k)
          rows[position[ids[k]]++] = place;
      }
    });
  });
  return a;
}

} // namespace

bool sums_by_sample(const LifNetwork &n, int threads, const Panels &panels, int channels) {
  int64_t row_bytes = 4 * panels.width;
  // Nothing is made twice: a panel is a task.
  return n.steps && n.steps * row_bytes <= GROUP_BYTES && channels * row_bytes <= SUM_BYTES &&
         (panels.count % threads == 0 || panels.count >= 4 * threads);
}

void sum_weight_gradient(const BackwardCall &call, const GradCurrent &current, const Spikes &spikes,
                         int channels, int delay, float *grad) {
  const Panels &panels = current.panels;
  int threads = call.threads, neurons = panels.neurons;
  Arrivals arrivals = sort_by_channel(call, current, spikes, channels, delay);
  // Channels share nothing, so they may be cut as there are threads to busy. Each range reads
  // dL/dI once: they are few, and their tasks as many as fall evenly to the threads.
  bool sums_are_held = arrivals.groups > 1;
  int most = static_cast<int>(SUM_BYTES / (4 * panels.width));
  int ranges = sums_are_held ? (channels + most - 1) / most : 1;
  auto tasks = [&] { return panels.count * ranges; };
  while (tasks() % threads != 0 && tasks() < 4 * threads)
    ++ranges;
  int range = std::max(1, (channels + ranges - 1) / ranges);
  ranges = (channels + range - 1) / range;
  int64_t held = sums_are_held ? int64_t(range) * panels.width : 0;
  int64_t made = current.deferred && !current.floats ? arrivals.group_rows * panels.width : 0;
  Buffer<float> sums(threads * held), all_made(threads * made);
  parallel_for(threads, int64_t(panels.count) * ranges, [&](int64_t task, int worker) {
    int p = static_cast<int>(task / ranges);
    WeightGradient a;
    a.vectors = panels.vectors;
    a.columns = panels.columns(p);
    a.first = static_cast<int>(task % ranges) * range;
    a.last = std::min(a.first + range, channels);
    a.inputs = channels;
    a.groups = a.end = arrivals.groups;
    a.begin = 0;
    a.group_rows = arrivals.group_rows;
    a.start = arrivals.start->get();
    a.rows = arrivals.rows->get();
    a.sum = sums.get() + worker * held;
    a.grad = grad + int64_t(a.first) * neurons + panels.first(p);
    a.grad_stride = neurons;
    a.continues = call.sums && call.sums->continues;
    if (!current.deferred) {
      a.grad_current = current.floats + p * call.rows * panels.width;
      return call.kernel.weight_gradient(a);
    }
    float *rows = all_made.get() + worker * made;
    int64_t sample_floats = int64_t(call.n.steps) * panels.width;
    int64_t samples = arrivals.group_rows / call.n.steps;
    for (int b = 0; a.begin < a.groups; a.begin = a.end) {
      if (current.floats)
        rows = current.floats + (p * call.rows + int64_t(b) * call.n.steps) * panels.width;
      a.grad_current = rows;
      for (int64_t s = 0; s < samples && b < call.n.batch; ++s, ++b)
        current.deferred(p, b, rows + s * sample_floats, worker);
      a.end = a.begin + 1;
      call.kernel.weight_gradient(a);
    }
  });
}

void sum_bias_gradient(const BackwardCall &call, int number, const GradCurrent &current,
                       float *grad) {
  const Panels &panels = current.panels;
  double *sums = call.sums ? call.sums->bias[number].data() : nullptr;
  parallel_for(call.threads, panels.count, [&](int64_t task, int) {
    int p = static_cast<int>(task), first = panels.first(p), columns = panels.columns(p);
    double total[MAX_WIDTH] = {};
    if (sums)
      std::copy(sums + first, sums + first + columns, total);
    const float *row = current.floats + task * call.rows * panels.width;
    for (int b = 0; b < call.n.batch; ++b) {
      float sum[MAX_WIDTH] = {};
      for (int t = 0; t < call.n.steps; ++t, row += panels.width)
        for (int n = 0; n < panels.width; ++n)
          sum[n] += row[n];
      for (int n = 0; n < panels.width; ++n)
        total[n] += static_cast<double>(sum[n]);
    }
    if (sums)
      std::copy(total, total + columns, sums + first);
    for (int n = 0; n < columns; ++n)
      grad[first + n] = static_cast<float>(total[n]);
  });
}

} // namespace lif
