#include <algorithm>

#include <popnn/Rnn.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <poputil/Util.hpp>
#include <poputil/exceptions.hpp>

namespace popnn {
namespace rnn {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::If;
using poplar::program::Sequence;

namespace {

/// The gathered data of all time steps, and the loop's results since the last gather.
struct Gathered {
  std::vector<Tensor> inputs; ///< [time, batch, size]
  Tensor interimIn;           ///< [multiple * time, batch, size]
  std::size_t timeSteps;
  std::vector<Tensor> temps; ///< [stepsPerGather, ...]
};

/// Runs gatherFn over `count` steps from `first` [1] on.
Sequence gather(Graph &graph, const Gathered &of, const Tensor &first, unsigned count,
                const GatherBodyType &gatherFn, Sequence *initProg,
                const poplar::DebugNameAndId &dnai) {
  Sequence prog;
  RnnSlice slice;
  const auto window = [&](const Tensor &t, const char *name) {
    return popops::dynamicSlice(graph, t, first, {0}, {count}, prog, {dnai, name});
  };
  for (const Tensor &input : of.inputs)
    slice.inputs.push_back(input.valid() ? window(input, "gatherInput").flatten(0, 2) : input);
  if (of.interimIn.valid()) {
    const std::size_t multiple = of.interimIn.dim(0) / of.timeSteps;
    const Tensor byTime =
        of.interimIn.reshapePartial(0, 1, {multiple, of.timeSteps}).dimRoll(1).flatten(1, 3);
    slice.interimIn = window(byTime, "gatherInterimIn");
  }
  for (const Tensor &temp : of.temps)
    slice.outputs.push_back(temp.slice(0, count));
  prog.add(gatherFn(graph, slice, count, initProg, dnai));
  return prog;
}

} // namespace

std::vector<Tensor> Rnn(Graph &graph, const RnnParams &params, const std::vector<Tensor> &initState,
                        const StateSequence &stateSequence, const std::vector<Tensor> &inputs,
                        const Tensor &interimIn, const unsigned numTemps, Sequence &prog,
                        const LoopBodyType &loopFn, const std::vector<Tensor> &gatherInputs,
                        const GatherBodyType &gatherFn, unsigned numShards, unsigned stepsPerGather,
                        poplar::OptionFlags &options, const poplar::DebugContext &debugContext) {
  using namespace popops::expr;
  if (params.variableTimeSteps())
    throw poputil::poplibs_error("Rnn: the emulator gathers over fixed time steps only; leave "
                                 "varTimeSteps out, or use the form without gatherFn");
  if (stepsPerGather == 0 || params.maxTimeSteps == 0)
    throw poputil::poplibs_error("Rnn: " + std::to_string(stepsPerGather) +
                                 " steps per gather of " + std::to_string(params.maxTimeSteps) +
                                 "; both must be 1 or more");
  const unsigned steps = static_cast<unsigned>(params.maxTimeSteps);
  const unsigned most = std::min(stepsPerGather, steps), remainder = steps % most;

  // In reverse: the steps that remain come first, then whole windows, each complete at its begin.
  const LoopBodyType body = [&](Graph &g, const TimeStepState &time, const RnnBatchwiseFlags &flags,
                                std::vector<Tensor> &state, const RnnSlice &slice,
                                std::vector<Tensor> &, Sequence *initProg,
                                const poplar::DebugNameAndId &dnai) {
    std::vector<Tensor> temps(numTemps);
    Sequence step = loopFn(g, time, flags, state, slice, temps, initProg, dnai);
    const Tensor at = popops::map(g, _1 % Const(most), {time.counter}, step, {dnai, "gatherStep"});
    Gathered of{gatherInputs, interimIn, params.maxTimeSteps, {}};
    for (std::size_t i = 0; i < temps.size(); ++i) {
      if (!temps[i].valid())
        throw poputil::poplibs_error("Rnn: the loop left nothing in temporary " +
                                     std::to_string(i) + " of " + std::to_string(numTemps));
      of.temps.push_back(poputil::cloneN(g, temps[i], most, {dnai, "gathered"}));
      popops::dynamicUpdate(g, of.temps[i].flatten(1, of.temps[i].rank()),
                            temps[i].flatten().expand({0}), at, {0}, {1}, step, {dnai, "gather"});
    }
    const auto whenAt = [&](const Tensor &is, unsigned count) {
      return If(is.reshape({}), gather(g, of, time.counter, count, gatherFn, initProg, dnai),
                Sequence());
    };
    const auto isBegin = [&](const Expr &expr) {
      return popops::map(g, expr, {time.counter, at}, step, {dnai, "isBegin"});
    };
    const unsigned whole = steps - remainder;
    step.add(whenAt(isBegin(_2 == Const(0u) && _1 < Const(whole)), most));
    if (remainder)
      step.add(whenAt(isBegin(_1 == Const(whole)), remainder));
    return step;
  };
  return Rnn(graph, params, true, initState, stateSequence, inputs,
             interimIn.valid() ? &interimIn : nullptr, nullptr, {}, {}, prog, body, numShards,
             options, debugContext);
}

} // namespace rnn
} // namespace popnn
