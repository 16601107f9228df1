#include <popnn/experimental/ROIAlign.hpp>
#include <poputil/exceptions.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace popnn {
namespace experimental {

using poplar::DebugContext;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;
using Shape = std::vector<std::size_t>;

namespace {

void expect(bool holds, const char *what, const Tensor &t) {
  if (!holds)
    throw poputil::poplibs_error(std::string("ROIAlign needs ") + what + ", not " +
                                 t.elementType().toString() + t.shapeToString());
}

void check(const Tensor &images, const Tensor &regions, const Tensor &of,
           const roiAlignParams &params) {
  const poplar::Type type = images.elementType();
  expect(images.rank() == 4 && (type == poplar::FLOAT || type == poplar::HALF),
         "images [batch, channels, height, width] of float or half", images);
  expect(regions.rank() == 2 && regions.dim(1) == 4 && regions.elementType() == type,
         "regions [regions, 4] of the images' type", regions);
  expect(of.shape() == Shape{regions.dim(0)} &&
             (of.elementType() == poplar::INT || of.elementType() == poplar::UNSIGNED_INT),
         "the image of each region, [regions] of int", of);
  if (params.samplingRatio_ == 0 || !(params.spatialScale_ > 0))
    throw poputil::poplibs_error("ROIAlign needs a samplingRatio and a spatialScale of more than "
                                 "0");
}

/// Height, width, those of the result, samples, whether aligned: what the vertices share.
Tensor sizes(Graph &graph, const Tensor &images, const roiAlignParams &params,
             const DebugContext &dc) {
  const std::vector<unsigned> values{
      static_cast<unsigned>(images.dim(2)),         static_cast<unsigned>(images.dim(3)),
      static_cast<unsigned>(params.alignedHeight_), static_cast<unsigned>(params.alignedWidth_),
      static_cast<unsigned>(params.samplingRatio_), params.aligned_ ? 1U : 0U};
  const Tensor t = graph.addConstant(poplar::UNSIGNED_INT, {values.size()},
                                     poplar::ArrayRef<unsigned>(values), dc);
  graph.setTileMapping(t, 0);
  return t;
}

/// The rows of a channel, an image each.
std::vector<Tensor> rowsOf(const Tensor &images, std::size_t channel) {
  std::vector<Tensor> rows;
  for (std::size_t image = 0; image < images.dim(0); ++image)
    rows.push_back(images[image][channel].flatten());
  return rows;
}

void setValues(Graph &graph, const poplar::VertexRef &v, const Tensor &sizes,
               const poplar::Type &type, const roiAlignParams &params) {
  graph.connect(v["indices"], sizes);
  graph.setInitialValue(v["type"], static_cast<unsigned>(type.identity()));
  graph.setInitialValue(v["a"], params.spatialScale_);
}

} // namespace

Tensor roiAlignFwd(Graph &graph, Sequence &prog, Tensor &bottomData, Tensor &bottomRois,
                   Tensor &bottomBatchIndex, const roiAlignParams &params,
                   const DebugContext &debugContext) {
  const DebugContext dc{debugContext, "roiAlign"};
  check(bottomData, bottomRois, bottomBatchIndex, params);
  const std::size_t regions = bottomRois.dim(0), channels = bottomData.dim(1);
  const Tensor out = graph.addVariable(
      bottomData.elementType(), {regions, channels, params.alignedHeight_, params.alignedWidth_},
      {dc, "topData"});
  const Tensor shared = sizes(graph, bottomData, params, dc);
  const poplar::ComputeSet cs = graph.addComputeSet(dc);
  for (std::size_t region = 0; region < regions; ++region)
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const auto tile =
          static_cast<unsigned>((region * channels + channel) % graph.getTarget().getNumTiles());
      const poplar::VertexRef v = graph.addVertex(cs, poplar::emulator::kRoiAlign);
      std::vector<Tensor> rows = rowsOf(bottomData, channel);
      rows.push_back(bottomRois[region]);
      graph.connect(v["rows"], rows);
      graph.connect(v["scalar"], bottomBatchIndex[region]);
      graph.connect(v["out"], out[region][channel].flatten());
      setValues(graph, v, shared, bottomData.elementType(), params);
      graph.setTileMapping(v, tile);
      graph.setTileMapping(out[region][channel], tile);
    }
  prog.add(poplar::program::Execute(cs, dc));
  return out;
}

Tensor roiAlignInputGradient(Graph &graph, Sequence &prog, Tensor &bottomData, Tensor &bottomRois,
                             Tensor &bottomBatchIndex, Tensor &topDataGrad,
                             const roiAlignParams &params, const DebugContext &debugContext) {
  const DebugContext dc{debugContext, "roiAlignGradient"};
  check(bottomData, bottomRois, bottomBatchIndex, params);
  expect(topDataGrad.shape() == Shape{bottomRois.dim(0), bottomData.dim(1), params.alignedHeight_,
                                      params.alignedWidth_} &&
             topDataGrad.elementType() == bottomData.elementType(),
         "gradients [regions, channels, alignedHeight, alignedWidth] of the images' type",
         topDataGrad);
  const Tensor gradient =
      graph.addVariable(bottomData.elementType(), bottomData.shape(), {dc, "bottomDiff"});
  const Tensor shared = sizes(graph, bottomData, params, dc);
  const poplar::ComputeSet cs = graph.addComputeSet(dc);
  for (std::size_t channel = 0; channel < bottomData.dim(1); ++channel) {
    const auto tile = static_cast<unsigned>(channel % graph.getTarget().getNumTiles());
    const poplar::VertexRef v = graph.addVertex(cs, poplar::emulator::kRoiAlignGradient);
    graph.connect(v["rows"],
                  std::vector<Tensor>{bottomRois.flatten(),
                                      topDataGrad.slice(channel, channel + 1, 1).flatten(),
                                      bottomBatchIndex});
    graph.connect(v["out"], rowsOf(gradient, channel));
    setValues(graph, v, shared, bottomData.elementType(), params);
    graph.setTileMapping(v, tile);
    graph.setTileMapping(gradient.slice(channel, channel + 1, 1), tile);
  }
  prog.add(poplar::program::Execute(cs, dc));
  return gradient;
}

} // namespace experimental
} // namespace popnn
