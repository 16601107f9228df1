#ifndef poplin_Convolution_hpp
#define poplin_Convolution_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <cstdint>
#include <ostream>
#include <set>
#include <tuple>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplin/ConvParams.hpp>
#include <poplin/PlanningCache.hpp>
#include <poputil/exceptions.hpp>

namespace poplin {

/// [groups, output channels, input channels, ...kernel], the channels of a group.
poplar::Tensor createWeights(poplar::Graph &graph, const ConvParams &params,
                             const poplar::DebugContext &debugContext,
                             const poplar::OptionFlags &options = {},
                             PlanningCache *cache = nullptr);
/// [batch, input channels, ...field]
poplar::Tensor createInput(poplar::Graph &graph, const ConvParams &params,
                           const poplar::DebugContext &debugContext,
                           const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);
/// [output channels] of activations [batch, output channels, ...field]
poplar::Tensor createBiases(poplar::Graph &graph, const poplar::Tensor &activations,
                            const poplar::DebugContext &debugContext = {"biases"});
/// The same for the output of the convolution with these parameters.
poplar::Tensor createBiases(poplar::Graph &graph, const poplar::Tensor &activations,
                            const ConvParams &params,
                            const poplar::DebugContext &debugContext = {"biases"},
                            const poplar::OptionFlags &options = {},
                            PlanningCache *cache = nullptr);

/// [batch, output channels, ...output field]. With transposeAndFlipWeights the weights are those
/// of the forward pass, of which `params` are the gradient's.
poplar::Tensor convolution(poplar::Graph &graph, const poplar::Tensor &in,
                           const poplar::Tensor &weights, const ConvParams &params,
                           bool transposeAndFlipWeights, poplar::program::Sequence &prog,
                           const poplar::DebugContext &debugContext = {},
                           const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);
/// Creates the output of convolutionWithOutput.
poplar::Tensor createConvOutput(poplar::Graph &graph, const ConvParams &params,
                                const poplar::DebugContext &debugContext = {},
                                const poplar::OptionFlags &options = {},
                                PlanningCache *cache = nullptr);
void convolutionWithOutput(poplar::Graph &graph, const poplar::Tensor &in,
                           const poplar::Tensor &weights, const poplar::Tensor &out,
                           const ConvParams &params, bool transposeAndFlipWeights,
                           poplar::program::Sequence &prog,
                           const poplar::DebugContext &debugContext = {},
                           const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);
/// weightsOut, [groups, in, out, ...kernel], becomes weightsIn with channels exchanged and the
/// kernel reversed.
void weightsTransposeChansFlipXY(poplar::Graph &graph, const poplar::Tensor &weightsIn,
                                 const poplar::Tensor &weightsOut, poplar::program::Sequence &prog,
                                 const poplar::DebugContext &debugContext = {});

/// The gradient of the weights.
poplar::Tensor calculateWeightDeltas(poplar::Graph &graph, const poplar::Tensor &zDeltas,
                                     const poplar::Tensor &activations, const ConvParams &params,
                                     poplar::program::Sequence &prog,
                                     const poplar::DebugContext &debugContext = {},
                                     const poplar::OptionFlags &options = {},
                                     PlanningCache *cache = nullptr);
/// Adds scale * their gradient to the weights, or to the biases.
#define POPLIN_CONVOLUTION_UPDATE(SCALE)                                                           \
  void convolutionWeightUpdate(                                                                    \
      poplar::Graph &graph, const poplar::Tensor &zDeltas, const poplar::Tensor &weights,          \
      const poplar::Tensor &activations, ConvParams params, SCALE scale,                           \
      poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},              \
      const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);                    \
  void convolutionBiasUpdate(                                                                      \
      poplar::Graph &graph, const poplar::Tensor &zDeltas, const poplar::Tensor &biases,           \
      SCALE scale, poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
      const poplar::OptionFlags &options = {});                                                    \
  /** With the options where later SDKs have them. */                                              \
  inline void convolutionBiasUpdate(                                                               \
      poplar::Graph &graph, const poplar::Tensor &zDeltas, const poplar::Tensor &biases,           \
      SCALE scale, const poplar::OptionFlags &options, poplar::program::Sequence &prog,            \
      const poplar::DebugContext &debugContext = {}) {                                             \
    convolutionBiasUpdate(graph, zDeltas, biases, scale, prog, debugContext, options);             \
  }
POPLIN_CONVOLUTION_UPDATE(const poplar::Tensor &)
POPLIN_CONVOLUTION_UPDATE(float)
#undef POPLIN_CONVOLUTION_UPDATE

void addBias(poplar::Graph &graph, const poplar::Tensor &in, const poplar::Tensor &biases,
             poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
             const poplar::OptionFlags &options = {});

/// Two for each multiplication and addition, without those of padding.
std::uint64_t getFwdFlops(const ConvParams &params);
/// The same number: each product of the forward pass has one in the gradients of input and weights.
inline std::uint64_t getBwdFlops(const ConvParams &params) { return getFwdFlops(params); }
inline std::uint64_t getWuFlops(const ConvParams &params) { return getFwdFlops(params); }

using ConvPlanParams =
    std::tuple<const poplar::Target *, const ConvParams, const poplar::OptionFlags *>;
/// Plans convolutions ahead: nothing to do.
inline void preplanConvolutions(const std::set<ConvPlanParams> &, PlanningCache &) {}
inline void preplanConvolutions(poplar::Graph &, const std::set<ConvPlanParams> &,
                                PlanningCache &) {}
/// Describes the only plan.
void reportPlanInfo(std::ostream &out, const poplar::Graph &graph, const ConvParams &params,
                    const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);
void reportWeightUpdatePlanInfo(std::ostream &out, const poplar::Graph &graph,
                                const ConvParams &fwdParams,
                                const poplar::OptionFlags &fwdOptions = {},
                                PlanningCache *cache = nullptr);

} // namespace poplin

#endif
