#include "collect.h"

#include <algorithm>

namespace lif {

ConvCollect::ConvCollect(const ConvKernel &kernel, const ConvPlan &plan)
    : kernel_(kernel), plan_(plan), padding_(plan.padding()),
      keys_(static_cast<int32_t>(padding_.blocks.size()) * plan.channels()),
      plane_(padding_.floats ? padding_.rows * padding_.floats + CONV_LANES : 0),
      first_(keys_ + 2) {}

void ConvCollect::add(const int32_t *events, int64_t count, const float *plane, float *weights) {
  bool is_copied = false;
  for (int64_t k = 0; k < count;) {
    const int64_t row = row_of(events + k, count - k);
    // With fewer events for each row of weights, sorting takes as long as it saves.
    if (padding_.floats && row >= 4 * int64_t(keys_)) {
      if (!is_copied)
        copy_padded(plane);
      is_copied = true;
      sort(events + k, row);
      add_row(plan_.tables().site[events[k]].y, weights);
    } else {
      kernel_.collect(plan_.tables(), events + k, row, plane, weights);
    }
    k += row;
  }
}

// How many events from the first on are in the same row of the input.
int64_t ConvCollect::row_of(const int32_t *events, int64_t count) const {
  const ConvSite *site = plan_.tables().site;
  int64_t row = 1;
  while (row < count && site[events[row]].y == site[events[0]].y)
    ++row;
  return row;
}

void ConvCollect::sort(const int32_t *events, int64_t count) {
  const ConvPadding::Input *input = padding_.inputs.data();
  std::fill(first_.begin(), first_.end(), 0);
  for (int64_t k = 0; k < count; ++k)
    ++first_[input[events[k]].key + 2];
  for (int32_t key = 0; key < keys_; ++key)
    first_[key + 2] += first_[key + 1];
  targets_.resize(count);
  for (int64_t k = 0; k < count; ++k) {
    const ConvPadding::Input &at = input[events[k]];
    targets_[first_[at.key + 1]++] = at.target;
  }
}

void ConvCollect::copy_padded(const float *plane) {
  const int64_t floats = padding_.row_floats;
  for (int64_t row = 0; row < padding_.rows; ++row)
    std::copy(plane + row * floats, plane + (row + 1) * floats,
              plane_.begin() + row * padding_.floats + padding_.left);
}

void ConvCollect::add_row(int32_t y, float *weights) const {
  const ConvTables &tables = plan_.tables();
  const auto blocks = static_cast<int32_t>(padding_.blocks.size());
  for (int32_t r = tables.first_row[y]; r < tables.first_row[y + 1]; ++r) {
    const ConvRow &row = tables.row[r];
    const float *plane = plane_.data() + row.target / padding_.row_floats * padding_.floats;
    for (int32_t key = 0; key < keys_; ++key) {
      const int32_t count = first_[key + 1] - first_[key];
      const ConvPadding::Block &block = padding_.blocks[key % blocks];
      if (count && block.floats)
        kernel_.collect_row(plane, targets_.data() + first_[key], count,
                            weights + block.weights +
                                (int64_t(key / blocks) * plan_.kernel_height() + row.tap) *
                                    block.floats,
                            block.floats);
    }
  }
}

} // namespace lif
