// The tables and the packed weights of one convolution.
#ifndef IPULSE_OPS_LIF_CPU_PLAN_H
#define IPULSE_OPS_LIF_CPU_PLAN_H

#include <vector>

#include "kernels/arguments/conv.h"

namespace lif {

// Rows of outputs with zeros on both sides, for convolutions where each column of the input reaches
// neighbouring outputs: there it reaches all weights of its block.
struct ConvPadding {
  struct Input {
    int32_t key;    // channel * blocks + block
    int32_t target; // in a row of `floats`
  };
  struct Block {
    int64_t weights; // packed, of the first row
    int32_t floats;  // of a row
  };

  int64_t rows, row_floats;  // of a plane
  int64_t floats = 0, left;  // of a row with zeros, and zeros before it; floats is 0 for others
  std::vector<Input> inputs; // of each id
  std::vector<Block> blocks;
};

class ConvPlan {
public:
  explicit ConvPlan(const ConvLayer &layer);

  const ConvTables &tables() const { return tables_; }
  // The weights times weight_scale, in the order of the runs, and a vector of zeros.
  std::vector<float> packed() const;
  // Writes a gradient in that order to `to` in the order of ConvLayer, times weight_scale.
  void unpack(const float *packed, float *to) const;
  int64_t packed_floats() const { return packed_floats_; }

  // Packed weights with the channels innermost, [rows, width], and the row of a float of channel 0.
  std::vector<float> transposed(const std::vector<float> &packed, int64_t width) const;
  int64_t row_of(int64_t of_first_channel) const;

  int32_t inputs() const { return layer_.height * layer_.width * layer_.channels; }
  int32_t neurons() const { return layer_.out_height * layer_.out_width * layer_.filters; }
  // Neurons behind the pool.
  int32_t sites() const {
    return layer_.out_height / layer_.pool_height * (layer_.out_width / layer_.pool_width) *
           layer_.filters;
  }
  int32_t members_per_site() const { return layer_.pool_height * layer_.pool_width; }
  int32_t channels() const { return layer_.channels; }
  int32_t kernel_height() const { return layer_.kernel_height; }
  const ConvPadding &padding() const { return padding_; }
  // Floats of a plane, in whole blocks.
  int64_t floats() const { return (int64_t(neurons()) + CONV_BLOCK - 1) / CONV_BLOCK * CONV_BLOCK; }
  // The pooled site of each neuron; -1: cropped.
  const std::vector<int32_t> &site_of() const { return site_of_; }

private:
  // Calls use(index in packed, index in the layer's weights) for every weight.
  template <class Use> void for_weights(Use use) const;
  // The taps of each block, the last one first.
  std::vector<std::vector<int32_t>> blocks_of_taps() const;
  void add_runs(const std::vector<std::vector<int32_t>> &taps);
  void add_padding(const std::vector<std::vector<int32_t>> &taps);

  ConvLayer layer_;
  int32_t group_filters_, group_channels_;
  std::vector<ConvSite> site_;
  std::vector<int32_t> first_row_, first_run_;
  std::vector<ConvRow> row_;
  std::vector<ConvRun> run_;
  std::vector<int64_t> tap_start_;   // in packed weights, of each tap of a row
  std::vector<int32_t> tap_stride_;  // from a row to the next, of each tap
  std::vector<int64_t> block_start_; // in packed weights, of each block, and behind the last
  int64_t packed_floats_ = 0;
  std::vector<int32_t> site_of_;
  ConvTables tables_{};
  ConvPadding padding_{};
};

} // namespace lif

#endif
