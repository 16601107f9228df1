#ifndef IPULSE_EMULATOR_REDUCE_STAGES_H
#define IPULSE_EMULATOR_REDUCE_STAGES_H

#include <vector>

#include <popops/Reduce.hpp>

namespace popops {

/// [outputs, elements of each], and the shape of the outputs.
struct Reduction {
  poplar::Tensor matrix;
  std::vector<std::size_t> shape;
};

/// Raises poplibs_error for a dimension that the tensor does not have.
Reduction arrange(const poplar::Tensor &in, const std::vector<std::size_t> &dims);

/// Adds a reduction: css[0] reduces, or the elements of each tile and css[1] the results of the
/// tiles. Compute sets are created as needed. Raises poplibs_error.
void addReduce(poplar::Graph &graph, const poplar::Tensor &in, const poplar::Tensor &out,
               const std::vector<std::size_t> &dims, const ReduceParams &params,
               std::vector<poplar::ComputeSet> &css, const poplar::DebugContext &debugContext);

} // namespace popops

#endif
