// `op_name="PooledSpikes"`, the pooled sites of spikes, and its gradient.
// docs/reference/poplar_op.md lists inputs, outputs, attributes.
#include <string>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poputil/exceptions.hpp>

#include "api_level.h"
#include "conv/conv_operands.h"
#include "exported_op.h"

using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;

namespace {

/// A tensor [rows, width] as a field of a vertex for each tile's rows.
using Field = std::pair<const char *, Tensor>;

/// The spikes of neurons behind a convolution, by rows, which are spread over all tiles.
class Pooling {
public:
  Pooling(const Graph &graph, const std::string &attributes, const std::vector<Tensor> &inputs)
      : sizes(lif::convolutionSizes(
            "PooledSpikes", lif::Words(attributes, "ipulse-pooled-spikes/1", {"geometry"}))),
        slots((lif::checkNumber("PooledSpikes", inputs, 2, "ids, counts"), inputs[0]), inputs[1]),
        rows{slots.rows(), std::min<std::size_t>(slots.rows(), graph.getTarget().getNumTiles())} {
    lif::needFloat("PooledSpikes", inputs[0]);
    if (inputs[0].numElements() == 0 || slots.slots > 65535)
      throw poputil::poplibs_error("PooledSpikes: ids must have at least one step and sample, and "
                                   "1 to 65535 slots; got " +
                                   inputs[0].shapeToString());
  }

  Tensor variable(Graph &graph, std::size_t width, const char *name) const {
    const Tensor t = graph.addVariable(FLOAT, {rows.all, width}, name);
    for (std::size_t part = 0; part < rows.parts; ++part)
      graph.setTileMapping(t.slice(rows.begin(part), rows.end(part)), static_cast<unsigned>(part));
    return t;
  }

  Program execute(Graph &graph, const char *type, const std::vector<Field> &fields) const {
    const poplar::ComputeSet set = graph.addComputeSet(type);
    // Even, so that no two workers write to one word.
    const unsigned stride = (ConvPool(sizes.data()).sites() + 1) / 2 * 2;
    for (std::size_t part = 0; part < rows.parts; ++part) {
      const auto tile = static_cast<unsigned>(part);
      const unsigned workers = std::min(6u, rows.size(part));
      const Tensor geometry =
          graph.addConstant<unsigned>(poplar::UNSIGNED_INT, {kConvolutionSizes}, sizes.data());
      const Tensor marks = graph.addVariable(poplar::UNSIGNED_SHORT, {workers * stride},
                                             std::string(type) + "/marks");
      graph.setTileMapping(geometry, tile);
      graph.setTileMapping(marks, tile);
      lif::NewVertex vertex(graph, set, type, tile);
      const auto connected = [&](const char *name, const Tensor &t) {
        vertex.connect(name, t.slice(rows.begin(part), rows.end(part)).flatten());
      };
      connected("ids", slots.ids);
      connected("counts", slots.counts);
      for (const Field &field : fields)
        connected(field.first, field.second);
      vertex.connect("geometry", geometry)
          .connect("marks", marks)
          .set("rows", rows.size(part))
          .set("slots", slots.slots)
          .set("countWidth", slots.countWidth)
          .set("stride", stride)
          .estimate(100 + 6 * lif::shareOf(rows.size(part)) * (3.0 * stride + 60.0 * slots.slots));
    }
    return poplar::program::Execute(set);
  }

  std::vector<unsigned> sizes; // the attribute `geometry`
  lif::SlotRows slots;
  lif::Share rows;
};

} // namespace

extern "C" {

IPULSE_METADATA(PooledSpikes)
IPULSE_METADATA(PooledSpikes_grad)

IPULSE_BUILD(PooledSpikes) {
  const Pooling pooling(graph, attributes, inputs);
  const Tensor pooled = pooling.variable(graph, pooling.slots.slots, "PooledSpikes/ids");
  const Tensor counts = pooling.variable(graph, 2, "PooledSpikes/counts");
  outputs = {pooled.reshape(inputs[0].shape()),
             counts.reshape({inputs[0].dim(0), inputs[0].dim(1), 2})};
  return pooling.execute(graph, "PooledSlots", {{"pooled", pooled}, {"pooledCounts", counts}});
}

IPULSE_GRADIENT(PooledSpikes) {
  static_cast<void>(results);
  const Pooling pooling(graph, attributes, inputs);
  const Tensor values = pooling.variable(graph, pooling.slots.slots, "PooledSpikes/values");
  outputs = {values.reshape(inputs[0].shape())};
  return pooling.execute(graph, "PooledSlotGradients",
                         {{"gradients", gradients[0].flatten(0, 2)}, {"values", values}});
}

} // extern "C"
