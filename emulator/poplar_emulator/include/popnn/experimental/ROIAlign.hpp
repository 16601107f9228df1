#ifndef popnn_experimental_ROIAlign_hpp
#define popnn_experimental_ROIAlign_hpp

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popnn {
namespace experimental {

/// The mean of samplingRatio_ x samplingRatio_ samples is an element of alignedHeight_ x
/// alignedWidth_; coordinates of a region are scaled, and moved by half an element if aligned_.
struct roiAlignParams {
  unsigned long samplingRatio_, alignedHeight_, alignedWidth_;
  bool aligned_;
  float spatialScale_;
  roiAlignParams(unsigned long samplingRatio, unsigned long poolH, unsigned long poolW,
                 bool aligned, float spatialScale)
      : samplingRatio_(samplingRatio), alignedHeight_(poolH), alignedWidth_(poolW),
        aligned_(aligned), spatialScale_(spatialScale) {}
};

/// [regions, channels, alignedHeight_, alignedWidth_] of images [batch, channels, height, width],
/// regions [regions, 4] of (x1, y1, x2, y2), and the image of each region.
poplar::Tensor roiAlignFwd(poplar::Graph &graph, poplar::program::Sequence &prog,
                           poplar::Tensor &bottomData, poplar::Tensor &bottomRois,
                           poplar::Tensor &bottomBatchIndex, const roiAlignParams &params,
                           const poplar::DebugContext &debugContext = {});

/// The gradient of the images.
poplar::Tensor roiAlignInputGradient(poplar::Graph &graph, poplar::program::Sequence &prog,
                                     poplar::Tensor &bottomData, poplar::Tensor &bottomRois,
                                     poplar::Tensor &bottomBatchIndex, poplar::Tensor &topDataGrad,
                                     const roiAlignParams &params,
                                     const poplar::DebugContext &debugContext = {});

} // namespace experimental
} // namespace popnn

#endif
