#include <popnn/Gru.hpp>
#include <popnn/NonLinearity.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <popops/Zero.hpp>
#include <poputil/Util.hpp>
#include <poputil/exceptions.hpp>

#include "gru_pass.h"
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
enum Kept : unsigned {
  kReset,
  kUpdate,
  kCandidate,
  kBefore,
  kProduct,
  kKept,
  kInattentive = kKept, ///< the update gate before the attention
  kAllKept
};
/// The gradients of a step: of the units' sums, and of the candidate's product with its weights.
enum Grads : unsigned { kProductGrad = kUnits, kGrads };

/// [units, 1, out]: the input's bias, or the recurrent one, which there is with resetAfter only.
Tensor biasOf(const Tensor &biases, const GruParams &params, unsigned which) {
  const Tensor t = inOrder(biases, params);
  if (t.rank() != (params.resetAfter ? 3u : 2u))
    throw poputil::poplibs_error("gru: biases of shape " + biases.shapeToString());
  return params.resetAfter ? t.slice(which, which + 1, 1) : t.expand({1});
}

/// Scores [batch, time] as [time, batch, 1].
Tensor byTime(const Tensor &scores) { return scores.transpose().expand({2}); }

} // namespace

Tensor forwardPass(Graph &graph, const GruParams &params, const Tensor &stateInit, const Tensor &in,
                   const GruWeights &weights, Tensor *intermediates, const Tensor &scores,
                   Sequence &fwdProg, const DebugContext &dc, const OptionFlags &options,
                   Cache *cache) {
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
    *intermediates = cell.sequence(scores.valid() ? kAllKept : kKept, "intermediates");
  cell.loop(false, fwdProg, [&](const Tensor &t, Sequence &step) {
    const Tensor active = cell.active(t, step), fromInput = cell.read(ahead, t, step);
    Tensor fromState = cell.product(h, params.resetAfter ? recurrent : gates, step);
    if (params.resetAfter)
      popops::addInPlace(graph, fromState, biasOf(weights.biases, params, 1), step, dc);
    const Tensor open = popops::add(graph, fromInput.slice(0, kCandidate),
                                    fromState.slice(0, kCandidate), step, dc);
    nonLinearityInPlace(graph, params.recurrentActivation, open, step, dc);
    Tensor sum, product, inattentive;
    if (scores.valid()) {
      inattentive = poputil::duplicate(graph, open[kUpdate], step, dc);
      popops::mapInPlace(graph, _1 - _2 * _1, {open[kUpdate], cell.read(byTime(scores), t, step)},
                         step, dc);
    }
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
    if (intermediates) {
      std::vector<Tensor> all{open, sum.expand({0}), h.expand({0}), product.expand({0})};
      if (scores.valid())
        all.push_back(inattentive.expand({0}));
      cell.write(*intermediates, poplar::concat(all), t, step);
    }
    cell.update(_1 * _2 + (1.f - _2) * _3, {h, open[kUpdate], sum}, active, step);
    if (outputs.valid())
      cell.write(outputs, cell.masked(h, active, step), t, step);
  });
  return outputs.valid() ? outputs : h;
}

Tensor backwardPass(Graph &graph, const GruParams &params, Sequence &prog,
                    const Tensor &fwdIntermediatesSeq, const GruWeights &weights,
                    const Tensor &gradLayerNext, Tensor *inputGrad, Tensor *bwdIntermediates,
                    const Tensor &scores, Tensor *scoreGrads, const DebugContext &dc,
                    const OptionFlags &options, Cache *cache) {
  const RecurrentCell cell = cellOf(graph, params, dc, options, cache);
  const Tensor recurrent = inOrder(weights.outputWeights, params);
  const Tensor grads = cell.sequence(kGrads, "unitGradients");
  const Tensor outGrad = cell.state("outputGradient");
  if (scoreGrads)
    *scoreGrads = createAttention(graph, params, dc, options);
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
    const Tensor byUpdate =
        popops::map(graph, _1 * (_2 - _3), {outGrad, kept[kBefore], kept[kCandidate]}, step, dc);
    if (scores.valid()) {
      const Tensor byScore = popops::map(graph, -_1 * _2, {byUpdate, kept[kInattentive]}, step, dc);
      const Tensor own = cell.masked(byScore, active, step);
      if (scoreGrads)
        cell.write(scoreGrads->transpose(),
                   popops::reduce(graph, own, {1}, popops::Operation::ADD, step, dc), t, step);
      popops::mapInPlace(graph, _1 - _2 * _1, {byUpdate, cell.read(byTime(scores), t, step)}, step,
                         dc);
    }
    const Tensor update =
        through(params.recurrentActivation,
                scores.valid() ? unsigned{kInattentive} : unsigned{kUpdate}, byUpdate);
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

GruWeights weightPass(Graph &graph, const GruParams &params, Sequence &prog,
                      const Tensor &fwdIntermediates, const Tensor &bwdIntermediates,
                      const Tensor &input, const DebugContext &dc, const OptionFlags &options,
                      Cache *cache) {
  const RecurrentCell cell = cellOf(graph, params, dc, options, cache);
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

} // namespace gru
} // namespace popnn
