#ifndef popnn_Gru_hpp
#define popnn_Gru_hpp

#include <cstdint>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplin/MatMul.hpp>
#include <popnn/GruDef.hpp>
#include <popnn/RecurrentLayer.hpp>

namespace popnn {
namespace gru {

const std::vector<BasicGruCellUnit> getDefaultBasicGruCellOrder();

struct GruParams : rnn::RecurrentLayer {
  using RecurrentLayer::RecurrentLayer;
  bool resetAfter = false; ///< the reset gate after the product with the weights, and two biases
  std::vector<BasicGruCellUnit> cellOrder = getDefaultBasicGruCellOrder();
};

/// [units, in, out], [units, out, out] and [units, out], or [units, 2, out] with resetAfter.
struct GruWeights {
  poplar::Tensor inputWeights;
  poplar::Tensor outputWeights;
  poplar::Tensor biases;
};

/// [time, batch, in]
poplar::Tensor createInput(poplar::Graph &graph, const GruParams &params,
                           const poplar::DebugContext &debugContext = {},
                           const poplar::OptionFlags &options = {},
                           poplin::PlanningCache *planningCache = nullptr);
/// [batch, out]
poplar::Tensor createInitialState(poplar::Graph &graph, const GruParams &params,
                                  const poplar::DebugContext &debugContext = {},
                                  const poplar::OptionFlags &options = {},
                                  poplin::PlanningCache *planningCache = nullptr);
/// The weights of the input and of the output.
std::pair<poplar::Tensor, poplar::Tensor> createWeightsKernel(
    poplar::Graph &graph, const GruParams &params, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache *planningCache = nullptr);
poplar::Tensor createWeightsBiases(poplar::Graph &graph, const GruParams &params,
                                   const poplar::DebugContext &debugContext = {},
                                   const poplar::OptionFlags &options = {},
                                   poplin::PlanningCache *planningCache = nullptr);
GruWeights createWeights(poplar::Graph &graph, const GruParams &params,
                         const poplar::DebugContext &debugContext = {},
                         const poplar::OptionFlags &options = {},
                         poplin::PlanningCache *planningCache = nullptr);
std::uint64_t getBasicGruCellFwdFlops(const GruParams &params);
std::uint64_t getBasicGruCellBwdFlops(const GruParams &params);
std::uint64_t getBasicGruCellWuFlops(const GruParams &params);

/// Scores of an attention, [batch, time].
poplar::Tensor createAttention(poplar::Graph &graph, const GruParams &params,
                               const poplar::DebugContext &debugContext = {},
                               const poplar::OptionFlags &options = {});

// Those of the name auGru multiply the update gate by 1 - a, a score of the attention, and return
// its gradient.

/// Returns the gradient of the weights, from the bwdIntermediates of the functions below.
GruWeights gruWU(poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,
                 const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediates,
                 const poplar::Tensor &bwdIntermediates, const GruWeights &weights,
                 const poplar::Tensor &input, const poplar::Tensor &output,
                 const poplar::DebugContext &debugContext = {},
                 const poplar::OptionFlags &options = {},
                 poplin::PlanningCache *planningCache = nullptr);
GruWeights auGruWU(poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,
                   const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediates,
                   const poplar::Tensor &bwdIntermediates, const GruWeights &weights,
                   const poplar::Tensor &input, const poplar::Tensor &output,
                   const poplar::DebugContext &debugContext = {},
                   const poplar::OptionFlags &options = {},
                   poplin::PlanningCache *planningCache = nullptr);

#define POPNN_GRU(...)                                                                             \
  /** Returns the outputs, [time, batch, out], or the last output, [batch, out]. *intermediates,   \
   * unless null, becomes the data of every step that the gradient needs. Raises poplibs_error for \
   * activations with a gradient that depends on their input. */                                   \
  poplar::Tensor gruFwd(                                                                           \
      poplar::Graph &graph, const GruParams &params, const poplar::Tensor &stateInit,              \
      const poplar::Tensor &in, __VA_ARGS__ const GruWeights &weights,                             \
      poplar::Tensor *intermediates, poplar::program::Sequence &fwdProg,                           \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},      \
      poplin::PlanningCache *planningCache = nullptr);                                             \
  /** Returns the gradient of the initial state, and of the inputs unless inputGrad is null. */    \
  poplar::Tensor gruBwd(                                                                           \
      poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,              \
      const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediatesSeq,              \
      const GruWeights &weights, const poplar::Tensor &fwdInputSeq,                                \
      __VA_ARGS__ const poplar::Tensor &fwdOutput, const poplar::Tensor &gradLayerNext,            \
      poplar::Tensor *inputGrad, poplar::Tensor *bwdIntermediates,                                 \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},      \
      poplin::PlanningCache *planningCache = nullptr);                                             \
  /** gruBwd and gruWU. */                                                                         \
  poplar::Tensor gruBwdWithWU(                                                                     \
      poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,              \
      const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediates,                 \
      const GruWeights &weights, const poplar::Tensor &input,                                      \
      __VA_ARGS__ const poplar::Tensor &output, const poplar::Tensor &outputGrad,                  \
      poplar::Tensor *inputGrad, GruWeights &weightsGrad,                                          \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},      \
      poplin::PlanningCache *planningCache = nullptr);                                             \
  poplar::Tensor auGruFwd(                                                                         \
      poplar::Graph &graph, const GruParams &params, const poplar::Tensor &stateInit,              \
      const poplar::Tensor &in, __VA_ARGS__ const GruWeights &weights,                             \
      poplar::Tensor *intermediates, const poplar::Tensor &attScores,                              \
      poplar::program::Sequence &fwdProg, const poplar::DebugContext &debugContext = {},           \
      const poplar::OptionFlags &options = {}, poplin::PlanningCache *planningCache = nullptr);    \
  poplar::Tensor auGruBwd(                                                                         \
      poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,              \
      const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediatesSeq,              \
      const GruWeights &weights, const poplar::Tensor &fwdInputSeq,                                \
      __VA_ARGS__ const poplar::Tensor &fwdOutput, const poplar::Tensor &gradLayerNext,            \
      poplar::Tensor *inputGrad, poplar::Tensor *bwdIntermediates,                                 \
      const poplar::Tensor &attentions, poplar::Tensor *attentionsGrad,                            \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {},      \
      poplin::PlanningCache *planningCache = nullptr);                                             \
  poplar::Tensor auGruBwdWithWU(                                                                   \
      poplar::Graph &graph, const GruParams &params, poplar::program::Sequence &prog,              \
      const poplar::Tensor &fwdOutputInit, const poplar::Tensor &fwdIntermediates,                 \
      const GruWeights &weights, const poplar::Tensor &input,                                      \
      __VA_ARGS__ const poplar::Tensor &output, const poplar::Tensor &outputGrad,                  \
      poplar::Tensor *inputGrad, GruWeights &weightsGrad, const poplar::Tensor &attentions,        \
      poplar::Tensor *attentionsGrad, const poplar::DebugContext &debugContext = {},               \
      const poplar::OptionFlags &options = {}, poplin::PlanningCache *planningCache = nullptr);
POPNN_GRU()
/// With as many steps, [batch] or [1], as realTimeSteps says.
POPNN_GRU(const poplar::Tensor &realTimeSteps, )
#undef POPNN_GRU

} // namespace gru
} // namespace popnn

#endif
