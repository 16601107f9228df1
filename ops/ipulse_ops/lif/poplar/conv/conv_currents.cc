#include <poputil/VertexTemplates.hpp>

#include "conv_operands.h"

namespace lif {

using poplar::Tensor;

/// A tile has all filters of a band of positions, of some rows. A row is split over tiles only if
/// there are fewer rows than tiles. The slots of its rows and the kernel are sent to each tile:
/// which of the slots reach its band is not known before they arrive.
poplar::program::Program convCurrents(poplar::Graph &graph, const ConvOperands &operands,
                                      Tensor &currents) {
  const Convolution &conv = operands.conv;
  const SlotRows &slots = operands.slots;
  const std::size_t bands = tilesFor(graph, slots.rows(), conv.positions());
  const std::size_t tiles = graph.getTarget().getNumTiles();
  const Share rows{slots.rows(), std::min(slots.rows(), tiles)}, positions{conv.positions(), bands};
  const auto type = poputil::templateVertex("ConvCurrents", slots.ids.elementType());
  const poplar::ComputeSet set = graph.addComputeSet("SpikeConv/currents");
  std::vector<Tensor> ofRows;
  for (std::size_t part = 0; part < rows.parts; ++part) {
    std::vector<Tensor> ofBands;
    for (std::size_t band = 0; band < bands; ++band) {
      const unsigned tile = tileOf(graph, part * bands + band, rows.parts * bands);
      const unsigned own = rows.size(part), places = positions.size(band);
      const Tensor out =
          graph.addVariable(poplar::FLOAT, {own, places * conv.filters}, "SpikeConv/currents");
      graph.setTileMapping(out, tile);
      // Every worker looks at every spike; those of a band's places add it.
      const double hits = (40.0 + 5.0 * conv.filters) / static_cast<double>(bands);
      const double bySpike = 400 + conv.taps() * (20 + hits);
      operands.vertex(graph, set, type, tile)
          .connect("ids", slots.ids.slice(rows.begin(part), rows.end(part)).flatten())
          .connect("counts", slots.counts.slice(rows.begin(part), rows.end(part)).flatten())
          .connect("kernel", operands.kernel)
          .connect("bias", operands.biased ? operands.bias : operands.kernel.slice(0, 1))
          .connect("currents", out.flatten())
          .set("rows", own)
          .set("slots", slots.slots)
          .set("countWidth", slots.countWidth)
          .set("firstPosition", static_cast<unsigned>(positions.begin(band)))
          .set("positions", places)
          .set("biased", operands.biased)
          .estimate(12 * shareOf(std::size_t(own) * places) * conv.filters +
                    double(own) * slots.slots * bySpike);
      ofBands.push_back(out);
    }
    ofRows.push_back(poplar::concat(ofBands, 1));
  }
  currents = poplar::concat(ofRows);
  return poplar::program::Execute(set);
}

} // namespace lif
