#ifndef popnn_Lstm_hpp
#define popnn_Lstm_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <cstdint>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplin/MatMul.hpp>
#include <popnn/LstmDef.hpp>
#include <popnn/RecurrentLayer.hpp>

namespace popnn {
namespace lstm {

const std::vector<BasicLstmCellUnit> getDefaultBasicLstmCellOrder();

struct LstmParams : rnn::RecurrentLayer {
  using RecurrentLayer::RecurrentLayer;
  bool doInputWeightCalc = true;   ///< taken as true
  bool preserveFinalState = false; ///< it is kept, always
  std::vector<BasicLstmCellUnit> cellOrder = getDefaultBasicLstmCellOrder();
};

/// [batch, out], both.
struct LstmState {
  poplar::Tensor output;
  poplar::Tensor cellState;
  /// [2, batch, out]
  poplar::Tensor getAsTensor() const;
};

/// [units, in, out], [units, out, out] and [units, out].
struct LstmWeights {
  poplar::Tensor inputWeights;
  poplar::Tensor outputWeights;
  poplar::Tensor biases;
};

/// [time, batch, in]
poplar::Tensor createInput(poplar::Graph &graph, const LstmParams &params,
                           const poplar::DebugContext &debugContext = {},
                           const poplar::OptionFlags &options = {},
                           poplin::PlanningCache *planningCache = nullptr);
poplar::Tensor createInitialOutput(poplar::Graph &graph, const LstmParams &params,
                                   const poplar::DebugContext &debugContext = {},
                                   const poplar::OptionFlags &options = {},
                                   poplin::PlanningCache *planningCache = nullptr);
poplar::Tensor createInitialCellState(poplar::Graph &graph, const LstmParams &params,
                                      const poplar::DebugContext &debugContext = {},
                                      const poplar::OptionFlags &options = {},
                                      poplin::PlanningCache *planningCache = nullptr);
LstmState createInitialState(poplar::Graph &graph, const LstmParams &params,
                             const poplar::DebugContext &debugContext = {},
                             const poplar::OptionFlags &options = {},
                             poplin::PlanningCache *planningCache = nullptr);
void zeroInitialState(poplar::Graph &graph, const LstmState &initialState,
                      poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext = {});
/// The weights of the input and of the output.
std::pair<poplar::Tensor, poplar::Tensor> createWeightsKernel(
    poplar::Graph &graph, const LstmParams &params, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {}, poplin::PlanningCache *planningCache = nullptr);
poplar::Tensor createWeightsBiases(poplar::Graph &graph, const LstmParams &params,
                                   const poplar::DebugContext &debugContext = {},
                                   const poplar::OptionFlags &options = {},
                                   poplin::PlanningCache *planningCache = nullptr);
LstmWeights createWeights(poplar::Graph &graph, const LstmParams &params,
                          const poplar::DebugContext &debugContext = {},
                          const poplar::OptionFlags &options = {},
                          poplin::PlanningCache *planningCache = nullptr);
std::uint64_t getBasicLstmCellFwdFlops(const LstmParams &params);
std::uint64_t getBasicLstmCellBwdFlops(const LstmParams &params);
std::uint64_t getBasicLstmCellWuFlops(const LstmParams &params);

/// Returns the outputs, [time, batch, out], or the last output, [batch, out], and the last cell
/// state. *intermediates, unless null, becomes the data of every step that the gradient needs.
/// Raises poplibs_error for activations with a gradient that depends on their input.
std::pair<poplar::Tensor, poplar::Tensor>
lstmFwd(poplar::Graph &graph, const LstmParams &params, const LstmState &stateInit,
        const poplar::Tensor &in, const LstmWeights &weights, poplar::Tensor *intermediates,
        poplar::program::Sequence &fwdProg, const poplar::DebugContext &debugContext = {},
        const poplar::OptionFlags &options = {}, poplin::PlanningCache *planningCache = nullptr);

/// Returns the gradient of the initial state, and that of the inputs unless inputGrad is null.
LstmState lstmBwd(poplar::Graph &graph, const LstmParams &params, poplar::program::Sequence &prog,
                  const LstmState &fwdStateInit, const poplar::Tensor &fwdIntermediates,
                  const LstmWeights &weights, const poplar::Tensor &input,
                  const poplar::Tensor &output, const poplar::Tensor &outputGrad,
                  const poplar::Tensor *lastCellStateGrad, poplar::Tensor *inputGrad,
                  poplar::Tensor *bwdIntermediates, const poplar::DebugContext &debugContext = {},
                  const poplar::OptionFlags &options = {},
                  poplin::PlanningCache *planningCache = nullptr);

/// Returns the gradient of the weights, from the bwdIntermediates of lstmBwd.
LstmWeights lstmWU(poplar::Graph &graph, const LstmParams &params, poplar::program::Sequence &prog,
                   const LstmState &fwdStateInit, const poplar::Tensor &fwdIntermediates,
                   const poplar::Tensor &bwdIntermediates, const LstmWeights &weights,
                   const poplar::Tensor &input, const poplar::Tensor &output,
                   const poplar::DebugContext &debugContext = {},
                   const poplar::OptionFlags &options = {},
                   poplin::PlanningCache *planningCache = nullptr);

/// Both.
LstmState lstmBwdWithWU(poplar::Graph &graph, const LstmParams &params,
                        poplar::program::Sequence &prog, const LstmState &fwdStateInit,
                        const poplar::Tensor &fwdIntermediates, const LstmWeights &weights,
                        const poplar::Tensor &input, const poplar::Tensor &output,
                        const poplar::Tensor &outputGrad, const poplar::Tensor *lastCellStateGrad,
                        poplar::Tensor *inputGrad, LstmWeights &weightsGrad,
                        const poplar::DebugContext &debugContext = {},
                        const poplar::OptionFlags &options = {},
                        poplin::PlanningCache *planningCache = nullptr);

} // namespace lstm
} // namespace popnn

#endif
