#include <popnn/Gru.hpp>
#include <popnn/NonLinearity.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Zero.hpp>
#include <poputil/exceptions.hpp>

#include "recurrent_cell.h"

namespace popnn {
namespace gru {

using namespace popops::expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Copy;
using poplar::program::Sequence;
using Cache = poplin::PlanningCache;

namespace {

constexpr std::size_t kUnits = unitsOf<GruParams>();
/// The stored data of a step: the units in their own order, the state before the step, and the
/// candidate's operand of the product with its weights, or the product itself with resetAfter.
enum Kept : unsigned { kReset, kUpdate, kCandidate, kBefore, kProduct, kCount };
/// The gradients of a step: of the units' sums, and of the candidate's product with its weights.
enum Grads : unsigned { kProductGrad = kUnits, kGrads };

/// [units, 1, out]: the input's bias, or the recurrent one, which there is with resetAfter only.
Tensor biasOf(const Tensor &biases, const GruParams &params, unsigned which) {
  const Tensor t = inOrder(biases, params);
  if (t.rank() != (params.resetAfter ? 3u : 2u))
    throw poputil::poplibs_error("gru: biases of shape " + biases.shapeToString());
  return params.resetAfter ? t.slice(which, which + 1, 1) : t.expand({1});
}

} // namespace

const std::vector<BasicGruCellUnit> getDefaultBasicGruCellOrder() {
  return {BasicGruCellUnit::RESET_GATE, BasicGruCellUnit::UPDATE_GATE, BasicGruCellUnit::CANDIDATE};
}

Tensor createInput(Graph &graph, const GruParams &params, const DebugContext &debugContext,
                   const OptionFlags &options, Cache *cache) {
  return cellOf(graph, params, debugContext, options, cache).input();
}
Tensor createInitialState(Graph &graph, const GruParams &params, const DebugContext &debugContext,
                          const OptionFlags &options, Cache *cache) {
  return cellOf(graph, params, debugContext, options, cache).state("initialOutput");
}
std::pair<Tensor, Tensor> createWeightsKernel(Graph &graph, const GruParams &params,
                                              const DebugContext &debugContext,
                                              const OptionFlags &options, Cache *cache) {
  const RecurrentCell cell = cellOf(graph, params, debugContext, options, cache);
  return {cell.weights(cell.in, "weightsIn"), cell.weights(cell.out, "weightsOut")};
}
Tensor createWeightsBiases(Graph &graph, const GruParams &params, const DebugContext &debugContext,
                           const OptionFlags &options, Cache *cache) {
  const RecurrentCell cell = cellOf(graph, params, debugContext, options, cache);
  return params.resetAfter ? cell.biases({kUnits, 2, cell.out}) : cell.biases({kUnits, cell.out});
}
GruWeights createWeights(Graph &graph, const GruParams &params, const DebugContext &debugContext,
                         const OptionFlags &options, Cache *cache) {
  const auto kernel = createWeightsKernel(graph, params, debugContext, options, cache);
  return {kernel.first, kernel.second,
          createWeightsBiases(graph, params, debugContext, options, cache)};
}

std::uint64_t getBasicGruCellFwdFlops(const GruParams &params) {
  return forwardFlops(params.rnn, kUnits);
}
std::uint64_t getBasicGruCellBwdFlops(const GruParams &params) {
  return backwardFlops(params.rnn, kUnits, params.calcInputGradients);
}
std::uint64_t getBasicGruCellWuFlops(const GruParams &params) {
  return weightFlops(params.rnn, kUnits);
}

Tensor gruFwd(Graph &graph, const GruParams &params, const Tensor &stateInit, const Tensor &in,
              const GruWeights &weights, Tensor *intermediates, Sequence &fwdProg,
              const DebugContext &debugContext, const OptionFlags &options, Cache *cache) {
  const DebugContext dc{debugContext, "gruFwd"};
  const RecurrentCell cell = cellOf(graph, params, dc, options, cache);
  const Tensor recurrent = inOrder(weights.outputWeights, params),
               biases = biasOf(weights.biases, params, 0);
  const Tensor gates = recurrent.slice(0, kCandidate),
               candidate = recurrent.slice(kCandidate, kUnits);
  // The products with the inputs of all steps at once: [time, units, batch, out]
  const Tensor products = cell.product(in, inOrder(weights.inputWeights, params), fwdProg);
  const Tensor ahead = popops::add(graph, products, biases.expand({1}), fwdProg, dc).dimRoll(0, 1);
  const Tensor h = cell.kept(stateInit, fwdProg);
  Tensor outputs;
  if (params.outputFullSequence)
    outputs = cell.sequence(1, "outputs").flatten(0, 2);
  if (intermediates)
    *intermediates = cell.sequence(kCount, "intermediates");
  cell.loop(false, fwdProg, [&](const Tensor &t, Sequence &step) {
    const Tensor active = cell.active(t, step), fromInput = cell.read(ahead, t, step);
    Tensor fromState = cell.product(h, params.resetAfter ? recurrent : gates, step);
    if (params.resetAfter)
      popops::addInPlace(graph, fromState, biasOf(weights.biases, params, 1), step, dc);
    const Tensor open = popops::add(graph, fromInput.slice(0, kCandidate),
                                    fromState.slice(0, kCandidate), step, dc);
    nonLinearityInPlace(graph, params.recurrentActivation, open, step, dc);
    Tensor sum, product;
    if (params.resetAfter) {
      product = fromState[kCandidate];
      sum = popops::map(graph, _1 + _2 * _3, {fromInput[kCandidate], open[kReset], product}, step,
                        dc);
    } else {
      product = popops::mul(graph, open[kReset], h, step, dc);
      sum = popops::add(graph, fromInput[kCandidate], cell.product(product, candidate, step)[0],
                        step, dc);
    }
    nonLinearityInPlace(graph, params.activation, sum, step, dc);
    if (intermediates)
      cell.write(*intermediates,
                 poplar::concat({open, sum.expand({0}), h.expand({0}), product.expand({0})}), t,
                 step);
    cell.update(_1 * _2 + (1.f - _2) * _3, {h, open[kUpdate], sum}, active, step);
    if (outputs.valid())
      cell.write(outputs, cell.masked(h, active, step), t, step);
  });
  return outputs.valid() ? outputs : h;
}

Tensor gruBwd(Graph &graph, const GruParams &params, Sequence &prog, const Tensor &,
              const Tensor &fwdIntermediatesSeq, const GruWeights &weights, const Tensor &,
              const Tensor &, const Tensor &gradLayerNext, Tensor *inputGrad,
              Tensor *bwdIntermediates, const DebugContext &debugContext,
              const OptionFlags &options, Cache *cache) {
  const DebugContext dc{debugContext, "gruBwd"};
  const RecurrentCell cell = cellOf(graph, params, dc, options, cache);
  const Tensor recurrent = inOrder(weights.outputWeights, params);
  const Tensor grads = cell.sequence(kGrads, "unitGradients");
  const Tensor outGrad = cell.state("outputGradient");
  if (params.outputFullSequence)
    popops::zero(graph, outGrad, prog, dc);
  else
    prog.add(Copy(gradLayerNext, outGrad));
  cell.loop(true, prog, [&](const Tensor &t, Sequence &step) {
    const Tensor active = cell.active(t, step), kept = cell.read(fwdIntermediatesSeq, t, step);
    if (params.outputFullSequence)
      cell.update(_1 + _2, {outGrad, cell.read(gradLayerNext, t, step)}, active, step);
    const auto through = [&](NonLinearityType type, unsigned unit, const Tensor &grad) {
      return nonLinearityInputGradient(graph, type, kept[unit], grad, step, dc).expand({0});
    };
    const Tensor update = through(
        params.recurrentActivation, kUpdate,
        popops::map(graph, _1 * (_2 - _3), {outGrad, kept[kBefore], kept[kCandidate]}, step, dc));
    const Tensor candidate =
        through(params.activation, kCandidate,
                popops::map(graph, _1 * (1.f - _2), {outGrad, kept[kUpdate]}, step, dc));
    const Tensor product = params.resetAfter
                               ? popops::mul(graph, candidate, kept[kReset].expand({0}), step, dc)
                               : candidate;
    const Tensor before = cell.inputGradient(product, recurrent.slice(kCandidate, kUnits), step);
    const Tensor reset = through(params.recurrentActivation, kReset,
                                 popops::map(graph, _1 * _2,
                                             {params.resetAfter ? candidate[0] : before,
                                              params.resetAfter ? kept[kProduct] : kept[kBefore]},
                                             step, dc));
    const Tensor all = poplar::concat({reset, update, candidate, product});
    cell.write(grads, cell.masked(all, active, step), t, step);
    const Tensor fromGates =
        cell.inputGradient(poplar::concat(reset, update), recurrent.slice(0, kCandidate), step);
    cell.update(params.resetAfter ? Any(_1 * _2 + _3 + _4) : Any(_1 * _2 + _3 * _5 + _4),
                {outGrad, kept[kUpdate], before, fromGates, kept[kReset]}, active, step);
  });
  if (inputGrad && params.calcInputGradients)
    *inputGrad = cell.inputGradient(grads.dimRoll(1).slice(0, kUnits),
                                    inOrder(weights.inputWeights, params), prog);
  if (bwdIntermediates)
    *bwdIntermediates = grads;
  return outGrad;
}

GruWeights gruWU(Graph &graph, const GruParams &params, Sequence &prog, const Tensor &,
                 const Tensor &fwdIntermediates, const Tensor &bwdIntermediates, const GruWeights &,
                 const Tensor &input, const Tensor &, const DebugContext &debugContext,
                 const OptionFlags &options, Cache *cache) {
  const RecurrentCell cell = cellOf(graph, params, {debugContext, "gruWU"}, options, cache);
  const Tensor grads = bwdIntermediates.dimRoll(1), kept = fwdIntermediates.dimRoll(1);
  const Tensor units = grads.slice(0, kUnits),
               products = poplar::concat(grads.slice(0, kCandidate), grads.slice(kUnits, kGrads));
  const Tensor gates = cell.weightGradient(kept[kBefore], products.slice(0, kCandidate), prog),
               candidate = cell.weightGradient(kept[params.resetAfter ? kBefore : kProduct],
                                               products.slice(kCandidate, kUnits), prog);
  Tensor biases = cell.biasGradient(units, prog);
  if (params.resetAfter)
    biases = poplar::concat(biases.expand({1}), cell.biasGradient(products, prog).expand({1}), 1);
  return {inCellOrder(cell.weightGradient(input, units, prog), params),
          inCellOrder(poplar::concat(gates, candidate), params), inCellOrder(biases, params)};
}

Tensor gruBwdWithWU(Graph &graph, const GruParams &params, Sequence &prog,
                    const Tensor &fwdOutputInit, const Tensor &fwdIntermediates,
                    const GruWeights &weights, const Tensor &input, const Tensor &output,
                    const Tensor &outputGrad, Tensor *inputGrad, GruWeights &weightsGrad,
                    const DebugContext &debugContext, const OptionFlags &options, Cache *cache) {
  Tensor units;
  const Tensor state = gruBwd(graph, params, prog, fwdOutputInit, fwdIntermediates, weights, input,
                              output, outputGrad, inputGrad, &units, debugContext, options, cache);
  weightsGrad = gruWU(graph, params, prog, fwdOutputInit, fwdIntermediates, units, weights, input,
                      output, debugContext, options, cache);
  return state;
}

} // namespace gru
} // namespace popnn
