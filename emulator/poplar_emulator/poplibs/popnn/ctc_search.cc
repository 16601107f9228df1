#include <sstream>

#include <popnn/CTCInference.hpp>
#include <popnn/LogSoftmax.hpp>
#include <poputil/exceptions.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace popnn {
namespace ctc_infer {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Sequence;
using Shape = std::vector<std::size_t>;

namespace {

/// [batch, ...], each sample on a tile.
Tensor bySample(Graph &graph, const poplar::Type &type, const Shape &shape,
                const DebugContext &debugContext) {
  const Tensor t = graph.addVariable(type, shape, debugContext);
  for (std::size_t sample = 0; sample < shape[0]; ++sample)
    graph.setTileMapping(t[sample],
                         static_cast<unsigned>(sample % graph.getTarget().getNumTiles()));
  return t;
}

void check(const Tensor &probabilities, const Tensor &lengths, unsigned blank, unsigned beams,
           unsigned paths, const ctc::Plan &plan) {
  std::ostringstream wrong;
  if (probabilities.elementType() != plan.in ||
      probabilities.shape() != Shape{plan.time, plan.batch, plan.classes})
    wrong << "needs probabilities [time, batch, classes] of the plan's type, not "
          << probabilities.elementType().toString() << probabilities.shapeToString();
  else if (lengths.elementType() != poplar::UNSIGNED_INT || lengths.shape() != Shape{plan.batch})
    wrong << "needs lengths [batch] of unsigned int, not " << lengths.elementType().toString()
          << lengths.shapeToString();
  else if (blank >= plan.classes)
    wrong << "has the blank class " << blank << " of " << plan.classes
          << " classes, counted from 0";
  else if (paths == 0 || paths > beams)
    wrong << "returns 1 to " << beams << " paths, as many as it has beams, not " << paths;
  if (!wrong.str().empty())
    throw poputil::poplibs_error("a CTC beam search " + wrong.str());
}

} // namespace

ctc::Plan plan(const Graph &, const poplar::Type &inType, unsigned batchSize, unsigned maxTime,
               unsigned numClasses, unsigned beamwidth, const OptionFlags &) {
  if (inType != poplar::FLOAT && inType != poplar::HALF)
    throw poputil::poplibs_error("a CTC beam search is of float or half, not " + inType.toString());
  if (batchSize == 0 || maxTime == 0 || numClasses < 2 || beamwidth == 0)
    throw poputil::poplibs_error("a CTC beam search needs a sample, a step, a beam and two "
                                 "classes at least, of which one is the blank");
  return {inType, inType, batchSize, maxTime, maxTime, numClasses};
}

Tensor createDataInput(Graph &graph, const poplar::Type &type, std::size_t batchSize,
                       std::size_t maxTime, std::size_t numClasses, const ctc::Plan &,
                       const DebugContext &debugContext) {
  return bySample(graph, type, {batchSize, maxTime, numClasses}, debugContext)
      .dimShuffle({1, 0, 2});
}

std::tuple<Tensor, Tensor, Tensor>
beamSearchDecoderLogProbabilities(Graph &graph, const Tensor &logProbs, const Tensor &dataLengths,
                                  Sequence &prog, unsigned blankClass, unsigned beamwidth,
                                  unsigned topPaths, const ctc::Plan &plan,
                                  const DebugContext &debugContext, const OptionFlags &) {
  const DebugContext dc{debugContext, "ctcBeamSearch"};
  check(logProbs, dataLengths, blankClass, beamwidth, topPaths, plan);
  const Tensor probabilities = bySample(graph, plan.in, {plan.batch, topPaths}, {dc, "labelProbs"});
  const Tensor lengths =
      bySample(graph, poplar::UNSIGNED_INT, {plan.batch, topPaths}, {dc, "labelLengths"});
  const Tensor labels = bySample(graph, poplar::UNSIGNED_INT, {plan.batch, topPaths, plan.time},
                                 {dc, "decodedLabels"});
  const Tensor blank = graph.addConstant(poplar::UNSIGNED_INT, {1}, blankClass, dc);
  graph.setTileMapping(blank, 0);
  const poplar::ComputeSet cs = graph.addComputeSet(dc);
  for (std::size_t sample = 0; sample < plan.batch; ++sample) {
    const poplar::VertexRef v = graph.addVertex(cs, poplar::emulator::kCtcSearch);
    graph.setTileMapping(v, static_cast<unsigned>(sample % graph.getTarget().getNumTiles()));
    graph.connect(v["rows"], std::vector<Tensor>{logProbs.slice(sample, sample + 1, 1).flatten()});
    graph.connect(v["indices"], poplar::concat(dataLengths.slice(sample, sample + 1), blank));
    graph.connect(v["out"], std::vector<Tensor>{probabilities[sample], lengths[sample],
                                                labels[sample].flatten()});
    graph.setInitialValue(v["type"], static_cast<unsigned>(plan.in.identity()));
    graph.setInitialValue(v["outType"], static_cast<unsigned>(plan.in.identity()));
    graph.setInitialValue(v["choice"], beamwidth);
  }
  prog.add(poplar::program::Execute(cs, dc));
  return {probabilities, lengths, labels};
}

std::tuple<Tensor, Tensor, Tensor>
beamSearchDecoderLogits(Graph &graph, const Tensor &logits, const Tensor &dataLengths,
                        Sequence &prog, unsigned blankClass, unsigned beamwidth, unsigned topPaths,
                        const ctc::Plan &plan, const DebugContext &debugContext,
                        const OptionFlags &options) {
  return beamSearchDecoderLogProbabilities(graph, logSoftmax(graph, logits, prog, debugContext),
                                           dataLengths, prog, blankClass, beamwidth, topPaths, plan,
                                           debugContext, options);
}

} // namespace ctc_infer
} // namespace popnn
