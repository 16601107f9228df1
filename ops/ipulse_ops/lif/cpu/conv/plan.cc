#include "plan.h"

#include <algorithm>

namespace lif {

ConvPlan::ConvPlan(const ConvLayer &layer)
    : layer_(layer), group_filters_(layer.filters / layer.groups),
      group_channels_(layer.channels / layer.groups) {
  site_.resize(inputs());
  for (int32_t c = 0; c < layer.channels; ++c)
    for (int32_t y = 0; y < layer.height; ++y)
      for (int32_t x = 0; x < layer.width; ++x) {
        int32_t id = layer.channels_first ? (c * layer.height + y) * layer.width + x
                                          : (y * layer.width + x) * layer.channels + c;
        site_[id] = {c * layer.kernel_height, c / group_channels_ * group_filters_,
                     static_cast<uint16_t>(x), static_cast<uint16_t>(y)};
      }
  first_row_.push_back(0);
  for (int32_t y = 0; y < layer.height; ++y) {
    for (int32_t tap = 0; tap < layer.kernel_height; ++tap) {
      int32_t from = y + layer.pad_y - layer.dilation_y * tap;
      if (from >= 0 && from % layer.stride_y == 0 && from / layer.stride_y < layer.out_height)
        row_.push_back({from / layer.stride_y * layer.out_width * layer.filters, tap});
    }
    first_row_.push_back(static_cast<int32_t>(row_.size()));
  }
  const std::vector<std::vector<int32_t>> taps = blocks_of_taps();
  add_runs(taps);
  if (layer.groups == 1 && layer.stride_x % layer.dilation_x == 0)
    add_padding(taps);
  site_of_.assign(neurons(), -1);
  const int32_t rows = layer.out_height / layer.pool_height,
                columns = layer.out_width / layer.pool_width;
  for (int32_t neuron = 0; neuron < neurons(); ++neuron) {
    int32_t position = neuron / layer.filters, y = position / layer.out_width / layer.pool_height,
            x = position % layer.out_width / layer.pool_width;
    if (y < rows && x < columns)
      site_of_[neuron] = (y * columns + x) * layer.filters + neuron % layer.filters;
  }
  tables_ = {site_.data(), first_row_.data(), row_.data(), first_run_.data(), run_.data()};
}

// Taps of a kernel's row that the same column of the input can reach have the same remainder and
// are packed as one block, the last tap first: their outputs ascend.
std::vector<std::vector<int32_t>> ConvPlan::blocks_of_taps() const {
  std::vector<std::vector<int32_t>> taps(layer_.stride_x);
  for (int32_t tap = layer_.kernel_width - 1; tap >= 0; --tap)
    taps[int64_t(layer_.dilation_x) * tap % layer_.stride_x].push_back(tap);
  return taps;
}

void ConvPlan::add_runs(const std::vector<std::vector<int32_t>> &taps) {
  const ConvLayer &n = layer_;
  tap_start_.resize(n.kernel_width);
  tap_stride_.resize(n.kernel_width);
  for (const std::vector<int32_t> &block : taps) {
    auto stride = static_cast<int32_t>(block.size()) * group_filters_;
    block_start_.push_back(packed_floats_);
    for (size_t i = 0; i < block.size(); ++i) {
      tap_start_[block[i]] = packed_floats_ + static_cast<int64_t>(i) * group_filters_;
      tap_stride_[block[i]] = stride;
    }
    packed_floats_ += int64_t(stride) * n.kernel_height * n.channels;
  }
  block_start_.push_back(packed_floats_);
  first_run_.push_back(0);
  for (int32_t x = 0; x < n.width; ++x) {
    size_t first = run_.size();
    for (int32_t tap : taps[(x + n.pad_x) % n.stride_x]) {
      int32_t from = x + n.pad_x - n.dilation_x * tap;
      if (from < 0 || from / n.stride_x >= n.out_width)
        continue;
      ConvRun run{from / n.stride_x * n.filters, static_cast<int32_t>(tap_start_[tap]),
                  tap_stride_[tap], group_filters_};
      bool touches = run_.size() > first && n.groups == 1 &&
                     run_.back().target + run_.back().floats == run.target &&
                     run_.back().weights + run_.back().floats == run.weights;
      if (touches)
        run_.back().floats += run.floats;
      else
        run_.push_back(run);
    }
    first_run_.push_back(static_cast<int32_t>(run_.size()));
  }
}

// Column x reaches output (x + pad - dilation * tap) / stride by each tap of its block, and the
// outputs of the taps of a block, the last tap first, are neighbours.
void ConvPlan::add_padding(const std::vector<std::vector<int32_t>> &taps) {
  const ConvLayer &n = layer_;
  for (size_t block = 0; block < taps.size(); ++block)
    padding_.blocks.push_back(
        {block_start_[block], static_cast<int32_t>(taps[block].size()) * n.filters});
  int32_t least = 0, most = n.out_width;
  std::vector<int32_t> first(n.width); // output of each column
  for (int32_t x = 0; x < n.width; ++x) {
    const int32_t block = (x + n.pad_x) % n.stride_x;
    if (!taps[block].empty())
      first[x] = (x + n.pad_x - n.dilation_x * taps[block].front()) / n.stride_x;
    least = std::min(least, first[x]);
    most = std::max(most, first[x] + static_cast<int32_t>(taps[block].size()));
  }
  for (const ConvSite &site : site_)
    padding_.inputs.push_back(
        {site.row / n.kernel_height * n.stride_x + (site.x + n.pad_x) % n.stride_x,
         (first[site.x] - least) * n.filters});
  padding_.rows = n.out_height;
  padding_.row_floats = int64_t(n.out_width) * n.filters;
  padding_.left = -int64_t(least) * n.filters;
  padding_.floats = int64_t(most - least) * n.filters;
}

template <class Use> void ConvPlan::for_weights(Use use) const {
  const ConvLayer &n = layer_;
  for (int32_t ky = 0; ky < n.kernel_height; ++ky)
    for (int32_t kx = 0; kx < n.kernel_width; ++kx)
      for (int32_t c = 0; c < n.channels; ++c)
        for (int32_t f = 0; f < group_filters_; ++f) {
          int64_t packed = tap_start_[kx] + int64_t(c * n.kernel_height + ky) * tap_stride_[kx] + f;
          int64_t position = int64_t(ky) * n.kernel_width + kx,
                  channel = position * group_channels_ + c % group_channels_;
          use(packed, channel * n.filters + c / group_channels_ * group_filters_ + f);
        }
}

std::vector<float> ConvPlan::packed() const {
  std::vector<float> found(packed_floats_ + CONV_LANES);
  for_weights([&](int64_t packed, int64_t plain) {
    found[packed] = layer_.weight_scale * layer_.weights[plain];
  });
  return found;
}

// A block has equally many floats of each channel, one channel behind the other.
std::vector<float> ConvPlan::transposed(const std::vector<float> &packed, int64_t width) const {
  std::vector<float> found(packed_floats_ / layer_.channels * width);
  for (size_t block = 0; block + 1 < block_start_.size(); ++block) {
    const int64_t start = block_start_[block], first = start / layer_.channels,
                  rows = block_start_[block + 1] / layer_.channels - first;
    for (int64_t c = 0; c < layer_.channels; ++c)
      for (int64_t row = 0; row < rows; ++row)
        found[(first + row) * width + c] = packed[start + c * rows + row];
  }
  return found;
}

int64_t ConvPlan::row_of(int64_t of_first_channel) const {
  auto behind = std::upper_bound(block_start_.begin(), block_start_.end(), of_first_channel);
  const int64_t start = *(behind - 1);
  return start / layer_.channels + of_first_channel - start;
}

void ConvPlan::unpack(const float *from, float *to) const {
  for_weights(
      [&](int64_t packed, int64_t plain) { to[plain] = layer_.weight_scale * from[packed]; });
}

} // namespace lif
