#include <algorithm>
#include <numeric>

#include <popnn/Rnn.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <popops/Zero.hpp>
#include <poputil/Util.hpp>
#include <poputil/exceptions.hpp>

namespace popnn {
namespace rnn {

using poplar::Graph;
using poplar::Interval;
using poplar::Tensor;
using poplar::program::Copy;
using poplar::program::Repeat;
using poplar::program::RepeatWhileTrue;
using poplar::program::Sequence;

namespace {

std::size_t ceilDivide(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

/// PopLibs 3.3, lib/popnn/Rnn.cpp: [steps, batch, size] in grains of up to 16 elements, over tiles
/// counted from the last one down.
Tensor createStep(Graph &graph, const RnnParams &params, std::size_t steps, std::size_t size,
                  const poplar::DebugContext &debugContext) {
  const std::size_t grain = std::gcd(std::size_t{16}, size);
  const std::size_t groups = size / grain;
  const Tensor t =
      graph.addVariable(params.dataType, {groups, steps, params.batchSize, grain}, debugContext);
  const unsigned tiles = graph.getTarget().getNumTiles();
  const std::size_t grains = groups * params.batchSize, perTile = ceilDivide(grains, tiles);
  // The library shifts the first tile by a hash of the sizes, so that layers spread.
  const std::size_t seed = (params.maxTimeSteps * 31 + params.batchSize) * 31 + size;
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t b = 0; b < params.batchSize; ++b) {
      const std::size_t at = (g * params.batchSize + b) / perTile;
      graph.setTileMapping(t[g].slice(b, b + 1, 1),
                           static_cast<unsigned>((2 * tiles - 1 - at + seed) % tiles));
    }
  }
  return t.dimRoll(0, 2).reshape({steps, params.batchSize, size});
}

void checkRank(const Tensor &t, const char *what) {
  if (t.valid() && t.rank() != 3)
    throw poputil::poplibs_error(std::string("Rnn: ") + what + " has shape " + t.shapeToString() +
                                 " and needs three dimensions");
}

/// [multiple * time, batch, size] as [time, multiple * batch * size] for slices and updates.
Tensor byTime(const Tensor &t, std::size_t timeSteps) {
  const std::size_t multiple = t.dim(0) / timeSteps;
  return t.reshapePartial(0, 1, {multiple, timeSteps}).dimRoll(1).flatten(1, 4);
}

} // namespace

RnnParams::RnnParams() : batchSize(0), maxTimeSteps(0), timeSteps(0) {}
RnnParams::RnnParams(poplar::Type dataType, std::size_t batchSize, std::size_t timeSteps,
                     std::vector<std::size_t> layerSizes)
    : dataType(dataType), batchSize(batchSize), maxTimeSteps(timeSteps), timeSteps(timeSteps),
      layerSizes(std::move(layerSizes)) {}
RnnParams::RnnParams(poplar::Type dataType, std::size_t batchSize, std::size_t maxTimeSteps,
                     const Tensor &varTimeSteps, std::vector<std::size_t> layerSizes)
    : RnnParams(dataType, batchSize, maxTimeSteps, std::move(layerSizes)) {
  this->varTimeSteps = varTimeSteps;
}

std::size_t RnnParams::getMaxShards(const Graph &graph) const {
  const std::size_t grains = layerSizes.at(0) / std::gcd(std::size_t{16}, layerSizes.at(0));
  const std::size_t used =
      std::min<std::size_t>(grains * batchSize, graph.getTarget().getNumTiles());
  return std::max<std::size_t>(1, graph.getTarget().getNumTiles() / std::max<std::size_t>(1, used));
}
std::size_t RnnParams::getInputBytesPerTile(const Graph &graph) const {
  return ceilDivide(batchSize * layerSizes.at(0), graph.getTarget().getNumTiles()) *
         graph.getTarget().getTypeSize(dataType);
}
std::size_t RnnParams::getOutputBytesPerTile(const Graph &graph) const {
  return ceilDivide(batchSize * layerSizes.back(), graph.getTarget().getNumTiles()) *
         graph.getTarget().getTypeSize(dataType);
}

Tensor createInitialState(Graph &graph, const RnnParams &params, bool isOutput, unsigned multiple,
                          unsigned, const poplar::DebugContext &debugContext) {
  return createStep(graph, params, multiple,
                    isOutput ? params.layerSizes.at(1) : params.layerSizes.at(0), debugContext);
}
Tensor createRecurrentTensor(Graph &graph, const RnnParams &params, unsigned size, unsigned,
                             const poplar::DebugContext &debugContext) {
  return createStep(graph, params, params.maxTimeSteps, size, debugContext);
}
Tensor createInputTensor(Graph &graph, const RnnParams &params, unsigned,
                         const poplar::DebugContext &debugContext) {
  return createStep(graph, params, params.maxTimeSteps, params.layerSizes.at(0), debugContext);
}
Tensor createOutputTensor(Graph &graph, const RnnParams &params, unsigned multiple, unsigned,
                          const poplar::DebugContext &debugContext) {
  return createStep(graph, params, multiple * params.maxTimeSteps, params.layerSizes.at(1),
                    debugContext);
}
Tensor createOutputTensor(Graph &graph, const RnnParams &params, unsigned numShards,
                          const poplar::DebugContext &debugContext) {
  return createOutputTensor(graph, params, 1, numShards, debugContext);
}

Tensor shiftRnnTensor(Graph &graph, const RnnParams &params, const Tensor &tBase,
                      const Tensor &tSingle, Sequence &prog, unsigned,
                      const poplar::DebugContext &debugContext) {
  const Tensor out = graph.clone(tBase, debugContext);
  const Tensor moved = concat(tSingle.rank() == tBase.rank() ? tSingle : tSingle.expand({0}),
                              tBase.slice(0, params.maxTimeSteps - 1));
  prog.add(Copy(moved, out, false, debugContext));
  return out;
}

std::vector<Tensor> Rnn(Graph &graph, const RnnParams &params, bool reverse,
                        const std::vector<Tensor> &initState, const StateSequence &stateSequence,
                        const std::vector<Tensor> &inputs, const Tensor *interimIn,
                        Tensor *interimOut, const std::vector<Tensor> &outputs,
                        const std::vector<Tensor> &created, Sequence &prog,
                        const LoopBodyType &loopFn, unsigned, poplar::OptionFlags &,
                        const poplar::DebugContext &debugContext) {
  if (params.layerSizes.size() < 2)
    throw poputil::poplibs_error("Rnn: layerSizes needs the sizes of input and output");
  const std::size_t steps = params.maxTimeSteps;
  const poplar::DebugNameAndId dnai(debugContext.getPathName());

  // States have the layout of the layer: they are copied in and updated there.
  std::vector<Tensor> state;
  for (const Tensor &initial : initState) {
    checkRank(initial, "an initial state");
    if (!initial.valid()) {
      state.push_back(initial);
      continue;
    }
    RnnParams of = params;
    of.dataType = initial.elementType();
    const Tensor own = createStep(graph, of, initial.dim(0), initial.dim(2), {dnai, "state"});
    prog.add(Copy(initial, own));
    state.push_back(own);
  }
  const auto scalar = [&](unsigned value) {
    const Tensor t = graph.addConstant<unsigned>(poplar::UNSIGNED_INT, {1}, value);
    graph.setTileMapping(t, 0);
    return t;
  };
  const Tensor counter = graph.addVariable(poplar::UNSIGNED_INT, {1}, {dnai, "seqIdx"});
  graph.setTileMapping(counter, 0);
  // The remaining steps, if a tensor gives their number, and whether there are any.
  Tensor left, more;
  const Tensor ends = params.variableTimeSteps()
                          ? params.varTimeSteps.flatten().reinterpret(poplar::UNSIGNED_INT)
                          : Tensor();
  prog.add(Copy(scalar(reverse ? static_cast<unsigned>(steps) - 1 : 0), counter));
  if (params.variableTimeSteps()) {
    const Tensor most = popops::reduce(graph, ends, {0}, popops::Operation::MAX, prog, dnai);
    left = popops::min(graph, most.expand({0}), scalar(static_cast<unsigned>(steps)), prog,
                       {dnai, "timeSteps"});
    more = graph.addVariable(poplar::BOOL, {1}, {dnai, "variableSeqFlag"});
    graph.setTileMapping(more, 0);
    if (reverse)
      popops::subWithOutput(graph, left, scalar(1), counter, prog, {dnai, "lastStep"});
  }
  const TimeStepState time{scalar(0), counter, more};

  Sequence step, init;
  RnnSlice slice;
  const auto sliceOf = [&](const Tensor &t, const char *name) {
    return popops::dynamicSlice(graph, t, counter, {0}, {1}, step, {dnai, name});
  };
  for (const Tensor &input : inputs) {
    checkRank(input, "an input");
    slice.inputs.push_back(input.valid() ? sliceOf(input, "inputSlice").flatten(0, 2) : input);
  }
  if (interimIn && interimIn->valid())
    slice.interimIn =
        sliceOf(byTime(*interimIn, steps), "interimIn")
            .reshape({interimIn->dim(0) / steps, interimIn->dim(1), interimIn->dim(2)});
  const auto oneStepOf = [&](const Tensor &t, const char *name) {
    const std::size_t multiple = t.dim(0) / steps;
    return graph.clone(t.slice(0, multiple), {dnai, name});
  };
  for (const Tensor &output : outputs) {
    checkRank(output, "an output");
    slice.outputs.push_back(output.valid() ? oneStepOf(output, "outputSlice") : output);
  }
  if (interimOut && interimOut->valid())
    slice.interimOut = oneStepOf(*interimOut, "interimOut");

  RnnBatchwiseFlags flags;
  if (params.batchVariableTimeSteps()) {
    using namespace popops::expr;
    const auto flag = [&](const Expr &expr) {
      const Tensor t = popops::map(graph, Cast(expr, params.dataType), {ends, counter}, step, dnai);
      return t.expand({1});
    };
    flags = {flag(_1 > _2), flag(_1 <= _2)};
  }
  std::vector<Tensor> made(created.size());
  step.add(loopFn(graph, time, flags, state, slice, made, &init, dnai));

  const auto store = [&](const Tensor &all, const Tensor &one) {
    popops::dynamicUpdate(graph, byTime(all, steps), one.flatten().expand({0}), counter, {0}, {1},
                          step, {dnai, "update"});
  };
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].valid())
      store(outputs[i], slice.outputs[i]);
  if (stateSequence.output.valid())
    store(stateSequence.output, state.at(stateSequence.stateIndex));
  if (slice.interimOut.valid())
    store(*interimOut, slice.interimOut);
  for (std::size_t i = 0; i < created.size(); ++i)
    if (created[i].valid())
      store(created[i], made[i]);
  if (reverse)
    popops::subInPlace(graph, counter, 1u, step, {dnai, "seqIdxDecrement"});
  else
    popops::addInPlace(graph, counter, 1u, step, {dnai, "seqIdxIncrement"});
  prog.add(init);
  if (!params.variableTimeSteps()) {
    prog.add(Repeat(static_cast<unsigned>(steps), step, {dnai, "loop"}));
    return state;
  }
  Sequence test;
  popops::neqWithOutput(graph, left, 0u, more, test, {dnai, "anyLeft"});
  popops::subInPlace(graph, left, 1u, step, {dnai, "timeStepsLeft"});
  prog.add(RepeatWhileTrue(test, more.reshape({}), step, {dnai, "loop"}));
  return state;
}

} // namespace rnn
} // namespace popnn
