#include "adam.h"

#include <cmath>

#include <poputil/VertexTemplates.hpp>

#include "layout/new_vertex.h"

namespace lif {

using poplar::ComputeSet;
using poplar::FLOAT;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Program;
using poplar::program::Sequence;

Program adamUpdate(IpuGraphs &graph, const AdamConstants &constants,
                   const std::vector<AdamMatrix> &matrices, const Tensor &rate,
                   const Tensor &update, const WeightRounding &rounding) {
  const Place place{0, 0};
  const Tensor factors = graph.addVariable(FLOAT, {2}, place, "adam/factors");
  const ComputeSet first = graph.addComputeSet("adam/rate");
  const ComputeSet all = graph.addComputeSet("adam/update");
  // Rounded once, from double.
  const auto rounded = [](double value) { return static_cast<float>(value); };
  NewVertex(graph, first, "AdamRate", place)
      .connect("rate", rate)
      .connect("update", update)
      .connect("factors", factors)
      .set("logBeta1", rounded(std::log(constants.beta1)))
      .set("logBeta2", rounded(std::log(constants.beta2)))
      .set("weightDecay", rounded(constants.weightDecay))
      .estimate(6.0 * 42);
  for (const AdamMatrix &matrix : matrices) {
    for (std::size_t p = 0; p < matrix.weights.tileParts().size(); ++p) {
      const auto pairs = static_cast<unsigned>(matrix.weights.part(p).numElements() / 2);
      const std::string type =
          poputil::templateVertex("AdamUpdate", matrix.weights.part(p).elementType());
      NewVertex(graph, all, type, matrix.weights.tileParts()[p].place)
          .connect("weights", matrix.weights.field(p))
          .connect("means", matrix.means.field(p))
          .connect("squares", matrix.squares.field(p))
          .connect("gradients", matrix.gradients.field(p))
          .connect("factors", factors)
          .connect("update", update)
          .set("rounding", static_cast<unsigned>(rounding.kind))
          .set("key", rounding.key)
          .set("place", (matrix.number << 16) + static_cast<unsigned>(p))
          .set("pairCount", pairs)
          .set("newMean", rounded(1 - constants.beta1))
          .set("newSquare", rounded(1 - constants.beta2))
          .set("epsilon", rounded(constants.epsilon))
          .estimate(31.0 * pairs);
    }
  }
  return Sequence({Execute(first), Execute(all)});
}

} // namespace lif
