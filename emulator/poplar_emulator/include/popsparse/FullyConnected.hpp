#ifndef popsparse_FullyConnected_hpp
#define popsparse_FullyConnected_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <tuple>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <popsparse/FullyConnectedParams.hpp>
#include <popsparse/PlanningCache.hpp>
#include <popsparse/SparseTensor.hpp>

namespace popsparse {
namespace dynamic {

/// Weights with a sparsity pattern that the host may change from run to run. The emulator converts
/// them to dense weights on the device: results follow the definition, but cycles and memory are
/// not the library's.
SparseTensor createFullyConnectedWeights(poplar::Graph &graph, const poplar::Type &inputType,
                                         const FullyConnectedParams &params,
                                         const poplar::DebugContext &debugContext = {},
                                         const poplar::OptionFlags &options = {},
                                         PlanningCache *cache = nullptr);
/// [batch, groups * inputs]
poplar::Tensor createFullyConnectedInput(poplar::Graph &graph, const poplar::Type &inputType,
                                         const FullyConnectedParams &params,
                                         const poplar::DebugContext &debugContext = {},
                                         const poplar::OptionFlags &options = {},
                                         PlanningCache *cache = nullptr);
/// [batch, groups * outputs]
poplar::Tensor
fullyConnectedFwd(poplar::Graph &graph, const SparseTensor &weights,
                  const poplar::Tensor &activations, const FullyConnectedParams &fcParams,
                  poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
                  const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);
/// The gradient of the activations.
poplar::Tensor
fullyConnectedGradA(poplar::Graph &graph, const SparseTensor &weights,
                    const poplar::Tensor &gradients, const FullyConnectedParams &fcParams,
                    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
                    const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);
/// Returns the gradient of the non-zero values, in their order.
poplar::Tensor
fullyConnectedSparseGradW(poplar::Graph &graph, const poplar::Tensor &sparsityMetaInfo,
                          const poplar::Tensor &gradA, const poplar::Tensor &activations,
                          const FullyConnectedParams &fcParams, poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {},
                          const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);
/// The serial parts of [groups, inputs, outputs] of a dense gradient of the weights: one each.
std::tuple<unsigned, unsigned, unsigned> fullyConnectedDenseGradWSerialSplits(
    const poplar::Graph &graph, const poplar::Type &inputType, const FullyConnectedParams &fcParams,
    const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);

} // namespace dynamic
} // namespace popsparse

#endif
