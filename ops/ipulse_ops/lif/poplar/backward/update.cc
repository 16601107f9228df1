#include "update.h"

#include <poputil/VertexTemplates.hpp>

#include "layout/new_vertex.h"

namespace lif {

poplar::program::Program sgdUpdate(IpuGraphs &graph, const SgdConstants &constants,
                                   const std::vector<AdamMatrix> &matrices,
                                   const poplar::Tensor &rate, const poplar::Tensor &update,
                                   const WeightRounding &rounding) {
  const poplar::ComputeSet all = graph.addComputeSet("sgd/update");
  for (const AdamMatrix &matrix : matrices) {
    for (std::size_t p = 0; p < matrix.weights.tileParts().size(); ++p) {
      const auto pairs = static_cast<unsigned>(matrix.weights.part(p).numElements() / 2);
      const Place place = matrix.weights.tileParts()[p].place;
      NewVertex(graph, all,
                poputil::templateVertex("SgdUpdate", matrix.weights.part(p).elementType()), place)
          .connect("weights", matrix.weights.field(p))
          .connect("momenta",
                   matrix.means.empty() ? unwrittenField(graph, place) : matrix.means.field(p))
          .connect("gradients", matrix.gradients.field(p))
          .connect("rate", rate)
          .connect("update", update)
          .set("rounding", static_cast<unsigned>(rounding.kind))
          .set("key", rounding.key)
          .set("place", (matrix.number << 16) + static_cast<unsigned>(p))
          .set("pairCount", pairs)
          .set("momentum", static_cast<float>(constants.momentum))
          .set("nesterov", constants.nesterov)
          .estimate(6.0 * (20 + shareOf(pairs) * 8.0));
    }
  }
  return poplar::program::Execute(all);
}

} // namespace lif
