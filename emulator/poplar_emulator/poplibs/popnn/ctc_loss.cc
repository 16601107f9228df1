#include <sstream>

#include <popnn/CTCLoss.hpp>
#include <popnn/LogSoftmax.hpp>
#include <poputil/exceptions.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace popnn {
namespace ctc {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::Type;
using poplar::program::Sequence;

namespace {

unsigned tileOf(const Graph &graph, std::size_t sample) {
  return static_cast<unsigned>(sample % graph.getTarget().getNumTiles());
}

/// [batch, ...], each sample on its tile.
Tensor bySample(Graph &graph, const Type &type, std::vector<std::size_t> shape,
                const DebugContext &debugContext) {
  const Tensor t = graph.addVariable(type, shape, debugContext);
  for (std::size_t sample = 0; sample < shape[0]; ++sample)
    graph.setTileMapping(t[sample], tileOf(graph, sample));
  return t;
}

void expect(bool holds, const char *what, const Tensor &t, const Plan &plan) {
  if (holds)
    return;
  std::ostringstream words;
  words << what << ", not " << t.elementType().toString() << t.shapeToString() << ", by the plan "
        << plan;
  throw poputil::poplibs_error(words.str());
}

void check(const Type &outType, const Tensor &logProbs, const Tensor &labels,
           const Tensor &dataLengths, const Tensor &labelLengths, unsigned blankClass,
           const Plan &plan) {
  using Shape = std::vector<std::size_t>;
  const Shape lengths{plan.batch};
  expect(logProbs.elementType() == plan.in && outType == plan.out &&
             logProbs.shape() == Shape{plan.time, plan.batch, plan.classes},
         "a CTC loss needs probabilities [time, batch, classes] of the plan's type", logProbs,
         plan);
  expect(labels.elementType() == poplar::UNSIGNED_INT &&
             labels.shape() == Shape{plan.batch, plan.label},
         "a CTC loss needs labels [batch, label] of unsigned int", labels, plan);
  for (const Tensor &t : {dataLengths, labelLengths})
    expect(t.elementType() == poplar::UNSIGNED_INT && t.shape() == lengths,
           "a CTC loss needs lengths [batch] of unsigned int", t, plan);
  if (blankClass >= plan.classes)
    throw poputil::poplibs_error("the blank class " + std::to_string(blankClass) + " of " +
                                 std::to_string(plan.classes) + " classes, counted from 0");
}

} // namespace

Plan plan(const Graph &, const Type &inType, const Type &outType, unsigned batchSize,
          unsigned maxTime, unsigned maxLabelLength, unsigned numClasses, const OptionFlags &) {
  for (const Type &type : {inType, outType})
    if (type != poplar::FLOAT && type != poplar::HALF)
      throw poputil::poplibs_error("a CTC loss is of float or half, not " + type.toString());
  if (batchSize == 0 || maxTime == 0 || numClasses < 2)
    throw poputil::poplibs_error("a CTC loss needs a sample, a step and two classes at least, of "
                                 "which one is the blank");
  return {inType, outType, batchSize, maxTime, maxLabelLength, numClasses};
}

Tensor createDataInput(Graph &graph, const Type &type, std::size_t batchSize, std::size_t maxTime,
                       std::size_t numClasses, const Plan &, const DebugContext &debugContext) {
  return bySample(graph, type, {batchSize, maxTime, numClasses}, debugContext)
      .dimShuffle({1, 0, 2});
}
Tensor createLabelsInput(Graph &graph, const Type &type, std::size_t batchSize,
                         std::size_t maxLabelLength, const Plan &,
                         const DebugContext &debugContext) {
  return bySample(graph, type, {batchSize, maxLabelLength}, debugContext);
}

std::pair<Tensor, Tensor> calcLossAndGradientLogProbabilities(
    Graph &graph, const Type &outType, const Tensor &logProbs, const Tensor &labels,
    const Tensor &dataLengths, const Tensor &labelLengths, Sequence &prog, unsigned blankClass,
    const Plan &plan, const DebugContext &debugContext, const OptionFlags &) {
  const DebugContext dc{debugContext, "ctcLoss"};
  check(outType, logProbs, labels, dataLengths, labelLengths, blankClass, plan);
  const Tensor loss = bySample(graph, outType, {plan.batch}, {dc, "loss"});
  const Tensor gradient =
      bySample(graph, outType, {plan.batch, plan.time, plan.classes}, {dc, "gradient"});
  // The forward probabilities of the labels with blanks between them, for all steps.
  const std::size_t places = 2 * plan.label + 1;
  const Tensor forward =
      bySample(graph, poplar::FLOAT, {plan.batch, plan.time * places}, {dc, "alpha"});
  const poplar::ComputeSet cs = graph.addComputeSet(dc);
  for (std::size_t sample = 0; sample < plan.batch; ++sample) {
    const poplar::VertexRef v = graph.addVertex(cs, poplar::emulator::kCtcLoss);
    graph.setTileMapping(v, tileOf(graph, sample));
    graph.connect(v["rows"], std::vector<Tensor>{logProbs.slice(sample, sample + 1, 1).flatten()});
    graph.connect(v["indices"],
                  poplar::concat({dataLengths.slice(sample, sample + 1),
                                  labelLengths.slice(sample, sample + 1), labels[sample]}));
    graph.connect(v["out"],
                  std::vector<Tensor>{loss.slice(sample, sample + 1), gradient[sample].flatten()});
    graph.connect(v["inout"], forward[sample]);
    graph.setInitialValue(v["type"], static_cast<unsigned>(plan.in.identity()));
    graph.setInitialValue(v["outType"], static_cast<unsigned>(outType.identity()));
    graph.setInitialValue(v["choice"], blankClass);
  }
  prog.add(poplar::program::WriteUndef(forward, dc));
  prog.add(poplar::program::Execute(cs, dc));
  return {loss, gradient.dimShuffle({1, 0, 2})};
}

std::pair<Tensor, Tensor> calcLossAndGradientLogits(
    Graph &graph, const Type &outType, const Tensor &logits, const Tensor &labels,
    const Tensor &dataLengths, const Tensor &labelLengths, Sequence &prog, unsigned blankClass,
    const Plan &plan, const DebugContext &debugContext, const OptionFlags &options) {
  return calcLossAndGradientLogProbabilities(
      graph, outType, logSoftmax(graph, logits, prog, debugContext), labels, dataLengths,
      labelLengths, prog, blankClass, plan, debugContext, options);
}

Tensor calcCTCLossLogProbabilities(Graph &graph, const Type &outType, const Tensor &logProbs,
                                   const Tensor &labels, const Tensor &dataLengths,
                                   const Tensor &labelLengths, Sequence &prog, unsigned blankClass,
                                   const Plan &plan, const DebugContext &debugContext,
                                   const OptionFlags &options) {
  return calcLossAndGradientLogProbabilities(graph, outType, logProbs, labels, dataLengths,
                                             labelLengths, prog, blankClass, plan, debugContext,
                                             options)
      .first;
}
Tensor calcCTCLossLogits(Graph &graph, const Type &outType, const Tensor &logits,
                         const Tensor &labels, const Tensor &dataLengths,
                         const Tensor &labelLengths, Sequence &prog, unsigned blankClass,
                         const Plan &plan, const DebugContext &debugContext,
                         const OptionFlags &options) {
  return calcLossAndGradientLogits(graph, outType, logits, labels, dataLengths, labelLengths, prog,
                                   blankClass, plan, debugContext, options)
      .first;
}

} // namespace ctc
} // namespace popnn
