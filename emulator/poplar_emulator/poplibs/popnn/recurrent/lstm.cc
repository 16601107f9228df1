#include <popnn/Lstm.hpp>
#include <popnn/NonLinearity.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Zero.hpp>
#include <poputil/exceptions.hpp>

#include "recurrent_cell.h"

namespace popnn {
namespace lstm {

using namespace popops::expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Copy;
using poplar::program::Sequence;
using Cache = poplin::PlanningCache;

namespace {

constexpr std::size_t kUnits = unitsOf<LstmParams>();
/// The stored data of a step: the four units in their own order, and the state before the step.
enum Kept : unsigned { kForget, kInput, kCandidate, kOutput, kCellBefore, kOutputBefore, kCount };

NonLinearityType activationOf(unsigned unit, const LstmParams &params) {
  return unit == kCandidate ? params.activation : params.recurrentActivation;
}

} // namespace

const std::vector<BasicLstmCellUnit> getDefaultBasicLstmCellOrder() {
  return {BasicLstmCellUnit::FORGET_GATE, BasicLstmCellUnit::INPUT_GATE,
          BasicLstmCellUnit::CANDIDATE, BasicLstmCellUnit::OUTPUT_GATE};
}

Tensor LstmState::getAsTensor() const {
  return poplar::concat({output.expand({0}), cellState.expand({0})});
}

Tensor createInput(Graph &graph, const LstmParams &params, const DebugContext &debugContext,
                   const OptionFlags &options, Cache *cache) {
  return cellOf(graph, params, debugContext, options, cache).input();
}
Tensor createInitialOutput(Graph &graph, const LstmParams &params, const DebugContext &debugContext,
                           const OptionFlags &options, Cache *cache) {
  return cellOf(graph, params, debugContext, options, cache).state("initialOutput");
}
Tensor createInitialCellState(Graph &graph, const LstmParams &params,
                              const DebugContext &debugContext, const OptionFlags &options,
                              Cache *cache) {
  return cellOf(graph, params, debugContext, options, cache).state("initialCellState");
}
LstmState createInitialState(Graph &graph, const LstmParams &params,
                             const DebugContext &debugContext, const OptionFlags &options,
                             Cache *cache) {
  return {createInitialOutput(graph, params, debugContext, options, cache),
          createInitialCellState(graph, params, debugContext, options, cache)};
}
void zeroInitialState(Graph &graph, const LstmState &initialState, Sequence &prog,
                      const DebugContext &debugContext) {
  popops::zero(graph, initialState.getAsTensor(), prog, debugContext);
}
std::pair<Tensor, Tensor> createWeightsKernel(Graph &graph, const LstmParams &params,
                                              const DebugContext &debugContext,
                                              const OptionFlags &options, Cache *cache) {
  const RecurrentCell cell = cellOf(graph, params, debugContext, options, cache);
  return {cell.weights(cell.in, "weightsIn"), cell.weights(cell.out, "weightsOut")};
}
Tensor createWeightsBiases(Graph &graph, const LstmParams &params, const DebugContext &debugContext,
                           const OptionFlags &options, Cache *cache) {
  const RecurrentCell cell = cellOf(graph, params, debugContext, options, cache);
  return cell.biases({kUnits, cell.out});
}
LstmWeights createWeights(Graph &graph, const LstmParams &params, const DebugContext &debugContext,
                          const OptionFlags &options, Cache *cache) {
  const auto kernel = createWeightsKernel(graph, params, debugContext, options, cache);
  return {kernel.first, kernel.second,
          createWeightsBiases(graph, params, debugContext, options, cache)};
}

std::uint64_t getBasicLstmCellFwdFlops(const LstmParams &params) {
  return forwardFlops(params.rnn, kUnits);
}
std::uint64_t getBasicLstmCellBwdFlops(const LstmParams &params) {
  return backwardFlops(params.rnn, kUnits, params.calcInputGradients);
}
std::uint64_t getBasicLstmCellWuFlops(const LstmParams &params) {
  return weightFlops(params.rnn, kUnits);
}

std::pair<Tensor, Tensor> lstmFwd(Graph &graph, const LstmParams &params,
                                  const LstmState &stateInit, const Tensor &in,
                                  const LstmWeights &weights, Tensor *intermediates,
                                  Sequence &fwdProg, const DebugContext &debugContext,
                                  const OptionFlags &options, Cache *cache) {
  const DebugContext dc{debugContext, "lstmFwd"};
  const RecurrentCell cell = cellOf(graph, params, dc, options, cache);
  const Tensor recurrent = inOrder(weights.outputWeights, params),
               biases = inOrder(weights.biases, params).expand({1});
  // The products with the inputs of all steps at once: [time, units, batch, out]
  const Tensor ahead =
      cell.product(in, inOrder(weights.inputWeights, params), fwdProg).dimRoll(0, 1);
  const Tensor c = cell.kept(stateInit.cellState, fwdProg),
               h = cell.kept(stateInit.output, fwdProg);
  Tensor outputs;
  if (params.outputFullSequence)
    outputs = cell.sequence(1, "outputs").flatten(0, 2);
  if (intermediates)
    *intermediates = cell.sequence(kCount, "intermediates");
  cell.loop(false, fwdProg, [&](const Tensor &t, Sequence &step) {
    const Tensor active = cell.active(t, step), fromInput = cell.read(ahead, t, step);
    const Tensor z = popops::map(graph, _1 + _2 + _3,
                                 {cell.product(h, recurrent, step), fromInput, biases}, step, dc);
    for (unsigned unit = 0; unit < kUnits; ++unit)
      nonLinearityInPlace(graph, activationOf(unit, params), z[unit], step, dc);
    if (intermediates)
      cell.write(*intermediates, poplar::concat({z, c.expand({0}), h.expand({0})}), t, step);
    cell.update(_1 * _2 + _3 * _4, {c, z[kForget], z[kInput], z[kCandidate]}, active, step);
    const Tensor squashed = nonLinearity(graph, params.activation, c, step, dc);
    cell.update(_2 * _3, {h, squashed, z[kOutput]}, active, step);
    if (outputs.valid())
      cell.write(outputs, cell.masked(h, active, step), t, step);
  });
  return {outputs.valid() ? outputs : h, c};
}

LstmState lstmBwd(Graph &graph, const LstmParams &params, Sequence &prog, const LstmState &,
                  const Tensor &fwdIntermediates, const LstmWeights &weights, const Tensor &,
                  const Tensor &, const Tensor &outputGrad, const Tensor *lastCellStateGrad,
                  Tensor *inputGrad, Tensor *bwdIntermediates, const DebugContext &debugContext,
                  const OptionFlags &options, Cache *cache) {
  const DebugContext dc{debugContext, "lstmBwd"};
  const RecurrentCell cell = cellOf(graph, params, dc, options, cache);
  const Tensor recurrent = inOrder(weights.outputWeights, params);
  const Tensor dz = cell.sequence(kUnits, "unitGradients");
  const Tensor outGrad = cell.state("outputGradient"), cellGrad = cell.state("cellGradient");
  if (params.outputFullSequence)
    popops::zero(graph, outGrad, prog, dc);
  else
    prog.add(Copy(outputGrad, outGrad));
  if (lastCellStateGrad)
    prog.add(Copy(*lastCellStateGrad, cellGrad));
  else
    popops::zero(graph, cellGrad, prog, dc);

  cell.loop(true, prog, [&](const Tensor &t, Sequence &step) {
    const Tensor active = cell.active(t, step), kept = cell.read(fwdIntermediates, t, step);
    if (params.outputFullSequence)
      cell.update(_1 + _2, {outGrad, cell.read(outputGrad, t, step)}, active, step);
    const Tensor after =
        popops::map(graph, _1 * _2 + _3 * _4,
                    {kept[kCellBefore], kept[kForget], kept[kInput], kept[kCandidate]}, step, dc);
    const Tensor squashed = nonLinearity(graph, params.activation, after, step, dc);
    const Tensor through =
        nonLinearityInputGradient(graph, params.activation, squashed,
                                  popops::mul(graph, outGrad, kept[kOutput], step, dc), step, dc);
    cell.update(_1 + _2, {cellGrad, through}, active, step);
    const std::pair<Tensor, Tensor> factors[kUnits] = {{cellGrad, kept[kCellBefore]},
                                                       {cellGrad, kept[kCandidate]},
                                                       {cellGrad, kept[kInput]},
                                                       {outGrad, squashed}};
    std::vector<Tensor> units;
    for (unsigned unit = 0; unit < kUnits; ++unit) {
      const Tensor grad = popops::mul(graph, factors[unit].first, factors[unit].second, step, dc);
      units.push_back(
          nonLinearityInputGradient(graph, activationOf(unit, params), kept[unit], grad, step, dc)
              .expand({0}));
    }
    const Tensor all = cell.masked(poplar::concat(units), active, step);
    cell.write(dz, all, t, step);
    cell.update(_1 * _2, {cellGrad, kept[kForget]}, active, step);
    cell.update(_2, {outGrad, cell.inputGradient(all, recurrent, step)}, active, step);
  });
  const Tensor byUnit = dz.dimRoll(1);
  if (inputGrad && params.calcInputGradients)
    *inputGrad = cell.inputGradient(byUnit, inOrder(weights.inputWeights, params), prog);
  if (bwdIntermediates)
    *bwdIntermediates = dz;
  return {outGrad, cellGrad};
}

LstmWeights lstmWU(Graph &graph, const LstmParams &params, Sequence &prog, const LstmState &,
                   const Tensor &fwdIntermediates, const Tensor &bwdIntermediates,
                   const LstmWeights &, const Tensor &input, const Tensor &,
                   const DebugContext &debugContext, const OptionFlags &options, Cache *cache) {
  const RecurrentCell cell = cellOf(graph, params, {debugContext, "lstmWU"}, options, cache);
  const Tensor dz = bwdIntermediates.dimRoll(1),
               before = fwdIntermediates.dimRoll(1)[kOutputBefore];
  return {inCellOrder(cell.weightGradient(input, dz, prog), params),
          inCellOrder(cell.weightGradient(before, dz, prog), params),
          inCellOrder(cell.biasGradient(dz, prog), params)};
}

LstmState lstmBwdWithWU(Graph &graph, const LstmParams &params, Sequence &prog,
                        const LstmState &fwdStateInit, const Tensor &fwdIntermediates,
                        const LstmWeights &weights, const Tensor &input, const Tensor &output,
                        const Tensor &outputGrad, const Tensor *lastCellStateGrad,
                        Tensor *inputGrad, LstmWeights &weightsGrad,
                        const DebugContext &debugContext, const OptionFlags &options,
                        Cache *cache) {
  Tensor units;
  const LstmState state =
      lstmBwd(graph, params, prog, fwdStateInit, fwdIntermediates, weights, input, output,
              outputGrad, lastCellStateGrad, inputGrad, &units, debugContext, options, cache);
  weightsGrad = lstmWU(graph, params, prog, fwdStateInit, fwdIntermediates, units, weights, input,
                       output, debugContext, options, cache);
  return state;
}

} // namespace lstm
} // namespace popnn
