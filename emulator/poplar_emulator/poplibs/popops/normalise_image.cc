#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <popops/NormaliseImage.hpp>
#include <popops/Pad.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

namespace popops {

using poplar::DebugContext;
using poplar::Graph;
using poplar::Tensor;

namespace {

constexpr std::size_t kChannels = 3;

void checkChannels(poplar::ArrayRef<std::size_t> shape) {
  if (shape.empty() || shape[shape.size() - 1] != kChannels)
    throw poputil::poplibs_error("an image to be normalised has 3 channels, its last dimension");
}

} // namespace

Tensor createNormaliseImageInput(Graph &graph, const poplar::Type &type,
                                 const poplar::ArrayRef<std::size_t> shape,
                                 const DebugContext &debugContext) {
  checkChannels(shape);
  const Tensor t = graph.addVariable(type, shape, debugContext);
  poputil::mapTensorLinearly(graph, t, 1, kChannels); // a pixel is on one tile
  return t;
}

Tensor normaliseImage(Graph &graph, poplar::program::Sequence &seq, Tensor tIn, float inScale,
                      Tensor inOffsets, Tensor inScales, const DebugContext &debugContext) {
  checkChannels(tIn.shape());
  if (inOffsets.shape() != std::vector<std::size_t>{kChannels} ||
      inScales.shape() != inOffsets.shape())
    throw poputil::poplibs_error("an image is normalised by an offset and a scale a channel, of " +
                                 inOffsets.shapeToString() + " and " + inScales.shapeToString());
  const Tensor image = tIn.elementType() == poplar::UNSIGNED_CHAR
                           ? cast(graph, tIn, poplar::HALF, seq, debugContext)
                           : tIn;
  const Tensor normal = map(graph, (expr::_1 * expr::Const(inScale) - expr::_2) * expr::_3,
                            {image, inOffsets, inScales}, seq, debugContext);
  return pad(graph, normal, 0, 1, normal.rank() - 1);
}

} // namespace popops
