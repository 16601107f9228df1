#include "clip.h"

#include <limits>

#include "layout/new_vertex.h"

namespace lif {

using poplar::ComputeSet;
using poplar::FLOAT;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Program;
using poplar::program::Sequence;

Program clipGradients(IpuGraphs &graph, const Clipping &clipping,
                      const std::vector<NeuronTensor> &gradients) {
  const bool bounds = clipping.value > 0, scales = clipping.norm > 0;
  if (gradients.empty() || (!bounds && !scales))
    return Sequence();
  const std::size_t workers = graph.whole.getTarget().getNumWorkerContexts();
  const ComputeSet values = graph.addComputeSet("clip/values");
  std::vector<Tensor> sums;
  const auto pairsOf = [](const NeuronTensor &matrix, std::size_t p) {
    return static_cast<unsigned>(matrix.part(p).numElements() / 2);
  };
  const float bound =
      bounds ? static_cast<float>(clipping.value) : std::numeric_limits<float>::infinity();
  for (const NeuronTensor &matrix : gradients) {
    for (std::size_t p = 0; p < matrix.tileParts().size(); ++p) {
      const Place place = matrix.tileParts()[p].place;
      const unsigned pairs = pairsOf(matrix, p);
      sums.push_back(scales ? graph.addVariable(FLOAT, {workers}, place, "clip/squares")
                            : unwrittenField(graph, place));
      NewVertex(graph, values, "ClipValues", place)
          .connect("gradients", matrix.field(p))
          .connect("squares", sums.back())
          .set("pairCount", pairs)
          .set("bound", bound)
          .set("sums", scales)
          .estimate(6.0 * (32 + shareOf(pairs) * 12.0));
    }
  }
  Sequence program({Execute(values)});
  if (!scales)
    return std::move(program);
  const Place place{0, 0};
  const Tensor share = graph.addVariable(FLOAT, {1}, place, "clip/share");
  const ComputeSet one = graph.addComputeSet("clip/share");
  const Tensor all = poplar::concat(sums);
  const auto count = static_cast<unsigned>(all.numElements());
  NewVertex(graph, one, "ClipShare", place)
      .connect("squares", all)
      .connect("share", share)
      .set("count", count)
      .set("inverse", static_cast<float>(1 / clipping.norm))
      .estimate(6.0 * (42 + count * 4.0));
  const ComputeSet norm = graph.addComputeSet("clip/norm");
  for (const NeuronTensor &matrix : gradients)
    for (std::size_t p = 0; p < matrix.tileParts().size(); ++p)
      NewVertex(graph, norm, "ClipNorm", matrix.tileParts()[p].place)
          .connect("gradients", matrix.field(p))
          .connect("share", share)
          .set("pairCount", pairsOf(matrix, p))
          .estimate(6.0 * (29 + shareOf(pairsOf(matrix, p)) * 5.0));
  program.add(Execute(one));
  program.add(Execute(norm));
  return std::move(program);
}

} // namespace lif
