#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Loop.hpp>
#include <popops/Reduce.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>
#include <poputil/exceptions.hpp>

#include "recurrent_cell.h"

namespace popnn {

using poplar::Tensor;
using poplar::program::Copy;
using poplar::program::Sequence;

RecurrentCell::RecurrentCell(poplar::Graph &graph, const rnn::RnnParams &params, std::size_t units,
                             const std::vector<NonLinearityType> &activations,
                             const poplar::DebugContext &debugContext,
                             const poplar::OptionFlags &options, poplin::PlanningCache *cache)
    : batch(params.batchSize), steps(params.maxTimeSteps), units(units), graph(graph),
      params(params), debugContext(debugContext), options(options), cache(cache) {
  if (params.layerSizes.size() < 2)
    throw poputil::poplibs_error("a recurrent layer: layerSizes needs the sizes of input and "
                                 "output");
  if (params.variableTimeSteps() &&
      (params.varTimeSteps.rank() != 1 ||
       (params.varTimeSteps.dim(0) != 1 && params.varTimeSteps.dim(0) != batch)))
    throw poputil::poplibs_error("a recurrent layer: one number of time steps, or one for each "
                                 "sample, and not " +
                                 params.varTimeSteps.shapeToString());
  in = params.layerSizes[0];
  out = params.layerSizes[1];
  for (const NonLinearityType type : activations)
    if (type != NonLinearityType::TANH && type != NonLinearityType::SIGMOID &&
        type != NonLinearityType::HARD_SIGMOID && type != NonLinearityType::RELU)
      throw poputil::poplibs_error("a recurrent layer: its activations are TANH, SIGMOID, "
                                   "HARD_SIGMOID or RELU");
}

Tensor RecurrentCell::input() const {
  return rnn::createInputTensor(graph, params, 1, {debugContext, "input"});
}
Tensor RecurrentCell::state(const char *name) const {
  return rnn::createInitialState(graph, params, true, 1, 1, {debugContext, name})[0];
}
Tensor RecurrentCell::weights(std::size_t rows, const char *name) const {
  const Tensor t =
      poplin::createMatMulInputRHS(graph, params.dataType, {batch, rows}, {rows, units * out},
                                   {debugContext, name}, options, cache);
  return t.reshapePartial(1, 2, {units, out}).dimRoll(1);
}
Tensor RecurrentCell::biases(const std::vector<std::size_t> &shape) const {
  const Tensor t = graph.addVariable(params.dataType, shape, {debugContext, "biases"});
  poputil::mapTensorLinearly(graph, t);
  return t;
}
Tensor RecurrentCell::sequence(std::size_t count, const char *name) const {
  const Tensor t =
      rnn::createOutputTensor(graph, params, static_cast<unsigned>(count), 1, {debugContext, name});
  return t.reshapePartial(0, 1, {steps, count});
}

Tensor RecurrentCell::matMul(const Tensor &a, const Tensor &b, Sequence &prog) const {
  return poplin::matMul(graph, a, b, prog, params.dataType, debugContext, options, cache);
}

namespace {
/// [units, rows, out] as a matrix [rows, units * out]
Tensor asMatrix(const Tensor &w) { return w.dimRoll(0, 1).flatten(1, 3); }
/// [units, .., out] as a matrix [.., units * out]
Tensor asRows(const Tensor &dz) {
  return dz.dimRoll(0, dz.rank() - 2).flatten(0, dz.rank() - 2).flatten(1, 3);
}
} // namespace

Tensor RecurrentCell::product(const Tensor &x, const Tensor &w, Sequence &prog) const {
  std::vector<std::size_t> shape(x.shape());
  shape.back() = w.dim(0);
  shape.push_back(w.dim(2));
  const Tensor z = matMul(x.flatten(0, x.rank() - 1), asMatrix(w), prog).reshape(shape);
  return z.dimRoll(z.rank() - 2);
}
Tensor RecurrentCell::inputGradient(const Tensor &dz, const Tensor &w, Sequence &prog) const {
  std::vector<std::size_t> shape(dz.shape().begin() + 1, dz.shape().end());
  shape.back() = w.dim(1);
  return matMul(asRows(dz), asMatrix(w).transpose(), prog).reshape(shape);
}
Tensor RecurrentCell::weightGradient(const Tensor &x, const Tensor &dz, Sequence &prog) const {
  return matMul(x.flatten(0, x.rank() - 1).transpose(), asRows(dz), prog)
      .reshapePartial(1, 2, {dz.dim(0), dz.dim(dz.rank() - 1)})
      .dimRoll(1);
}
Tensor RecurrentCell::biasGradient(const Tensor &dz, Sequence &prog) const {
  return popops::reduce(graph, dz.flatten(1, dz.rank() - 1), {1}, popops::Operation::ADD, prog,
                        {debugContext, "biases"});
}

void RecurrentCell::loop(bool reverse, Sequence &prog,
                         const std::function<void(const Tensor &, Sequence &)> &body) const {
  prog.add(popops::countedLoop(graph, steps,
                               [&](const Tensor &count) {
                                 Sequence step;
                                 Tensor at = count;
                                 if (reverse) {
                                   using namespace popops::expr;
                                   at = popops::map(graph,
                                                    Const(static_cast<unsigned>(steps - 1)) - _1,
                                                    {count}, step, {debugContext, "reversed"});
                                 }
                                 body(at, step);
                                 return step;
                               },
                               {debugContext, "time"}));
}
Tensor RecurrentCell::read(const Tensor &sequence, const Tensor &step, Sequence &prog) const {
  return popops::dynamicSlice(graph, sequence, step, {0}, {1}, prog, {debugContext, "read"})[0];
}
void RecurrentCell::write(const Tensor &sequence, const Tensor &value, const Tensor &step,
                          Sequence &prog) const {
  popops::dynamicUpdate(graph, sequence, value.expand({0}), step, {0}, {1}, prog,
                        {debugContext, "write"});
}
Tensor RecurrentCell::active(const Tensor &step, Sequence &prog) const {
  if (!params.variableTimeSteps())
    return {};
  const Tensor ends = params.varTimeSteps.reinterpret(poplar::UNSIGNED_INT);
  const Tensor left = popops::gt(graph, ends, step, prog, {debugContext, "active"});
  return (left.dim(0) == batch ? left : left.broadcast(static_cast<unsigned>(batch), 0))
      .expand({1});
}
void RecurrentCell::update(const popops::expr::Expr &expr, std::vector<Tensor> ts,
                           const Tensor &active, Sequence &prog) const {
  using namespace popops::expr;
  const poplar::DebugContext dc{debugContext, "update"};
  if (!active.valid())
    return popops::mapInPlace(graph, expr, ts, prog, dc);
  ts.push_back(active);
  const PlaceHolder last(static_cast<unsigned>(ts.size()));
  popops::mapInPlace(graph, Select(expr, _1, last), ts, prog, dc);
}
Tensor RecurrentCell::masked(const Tensor &t, const Tensor &active, Sequence &prog) const {
  if (!active.valid())
    return t;
  using namespace popops::expr;
  return popops::map(graph, Select(_1, Const(0.f), _2), {t, active}, prog,
                     {debugContext, "masked"});
}
Tensor RecurrentCell::kept(const Tensor &initial, Sequence &prog) const {
  return poputil::duplicate(graph, initial, prog, {debugContext, "kept"});
}

namespace {
std::uint64_t samplesOf(const rnn::RnnParams &params) {
  return params.batchSize * params.maxTimeSteps;
}
} // namespace

std::uint64_t forwardFlops(const rnn::RnnParams &params, std::size_t units) {
  const std::uint64_t in = params.layerSizes.at(0), out = params.layerSizes.at(1);
  return samplesOf(params) * (2 * units * (in + out) * out + (units + 4) * out);
}
std::uint64_t backwardFlops(const rnn::RnnParams &params, std::size_t units, bool ofInputs) {
  const std::uint64_t in = ofInputs ? params.layerSizes.at(0) : 0, out = params.layerSizes.at(1);
  return samplesOf(params) * 2 * units * (in + out) * out;
}
std::uint64_t weightFlops(const rnn::RnnParams &params, std::size_t units) {
  const std::uint64_t in = params.layerSizes.at(0), out = params.layerSizes.at(1);
  return samplesOf(params) * (2 * units * (in + out) * out + units * out);
}

Tensor atPlaces(const Tensor &t, const std::vector<std::size_t> &places) {
  std::vector<Tensor> units;
  for (const std::size_t place : places)
    units.push_back(t.slice(place, place + 1));
  return poplar::concat(units);
}

} // namespace popnn
