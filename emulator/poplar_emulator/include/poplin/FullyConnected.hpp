#ifndef poplin_FullyConnected_hpp
#define poplin_FullyConnected_hpp

#include <utility>
#include <vector>

#include <poplar/OptionFlags.hpp>
#include <poplin/MatMul.hpp>

namespace poplin {
namespace fc {

/// The sizes of a fully connected layer.
struct FullyConnectedParams {
  std::size_t numGroups;
  std::size_t batchSize;
  std::size_t inputSize;
  std::size_t outputSize;
};

/// Returns the products of a layer with their options, to be planned ahead: the forward pass and,
/// unless it is used for inference only, the gradients of its inputs and weights.
std::vector<std::pair<MatMulParams, poplar::OptionFlags>>
getMatMulPrePlanParameters(FullyConnectedParams parameters, poplar::OptionFlags matmulOptions,
                           poplar::Type type, bool inferenceOnly);

} // namespace fc
} // namespace poplin

#endif
