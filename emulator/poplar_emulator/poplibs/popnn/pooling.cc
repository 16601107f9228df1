#include <algorithm>
#include <limits>

#include <popnn/Pooling.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Pad.hpp>
#include <popops/Reduce.hpp>
#include <popops/Zero.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

namespace popnn {
namespace pooling {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Sequence;

PoolParams::PoolParams(PoolingType poolingType, std::vector<std::size_t> inputFieldShape,
                       std::vector<std::size_t> kernelShape, std::vector<unsigned> stride,
                       std::vector<int> lower, std::vector<int> upper, std::size_t numChannels,
                       std::size_t batchSize, poplar::Type dType)
    : poolingType(poolingType), inputFieldShape(std::move(inputFieldShape)),
      kernelShape(std::move(kernelShape)), stride(std::move(stride)),
      inputTruncationOrPaddingLower(std::move(lower)),
      inputTruncationOrPaddingUpper(std::move(upper)), numChannels(numChannels),
      batchSize(batchSize), dType(dType) {
  const std::size_t dims = this->inputFieldShape.size();
  if (this->kernelShape.size() != dims || this->stride.size() != dims ||
      inputTruncationOrPaddingLower.size() != dims || inputTruncationOrPaddingUpper.size() != dims)
    throw poputil::poplibs_error("pooling needs an entry for each spatial dimension");
  for (std::size_t d = 0; d < dims; ++d) {
    const auto n = static_cast<std::ptrdiff_t>(this->inputFieldShape[d]) +
                   inputTruncationOrPaddingLower[d] + inputTruncationOrPaddingUpper[d];
    if (this->stride[d] == 0 || this->kernelShape[d] == 0 ||
        n < static_cast<std::ptrdiff_t>(this->kernelShape[d]))
      throw poputil::poplibs_error("pooling: a window larger than its input, or a stride of 0");
  }
}

std::vector<std::size_t> PoolParams::getOutputFieldShape() const {
  std::vector<std::size_t> shape;
  for (std::size_t d = 0; d < inputFieldShape.size(); ++d) {
    const auto n = static_cast<std::ptrdiff_t>(inputFieldShape[d]) +
                   inputTruncationOrPaddingLower[d] + inputTruncationOrPaddingUpper[d];
    shape.push_back((static_cast<std::size_t>(n) - kernelShape[d]) / stride[d] + 1);
  }
  return shape;
}

namespace {

/// Views of the padded input, one for each position in a window: [batch, channels, ...output].
std::vector<Tensor> places(const Tensor &padded, const PoolParams &p) {
  const auto field = p.getOutputFieldShape();
  std::size_t count = 1;
  for (const std::size_t k : p.kernelShape)
    count *= k;
  std::vector<Tensor> views;
  for (std::size_t place = 0; place < count; ++place) {
    Tensor t = padded;
    std::size_t rest = place;
    for (auto d = static_cast<unsigned>(field.size()); d-- > 0;) {
      const std::size_t first = rest % p.kernelShape[d];
      rest /= p.kernelShape[d];
      t = t.slice(first, first + (field[d] - 1) * p.stride[d] + 1, d + 2)
              .subSample(p.stride[d], d + 2);
    }
    views.push_back(t);
  }
  return views;
}

/// The lower bound of all elements of a half or float tensor.
float lowest(const PoolParams &p) {
  return p.dType == poplar::HALF ? -65504.f : std::numeric_limits<float>::lowest();
}

Tensor padded(Graph &graph, const Tensor &in, const PoolParams &p, float value) {
  std::vector<std::ptrdiff_t> lower{0, 0}, upper{0, 0};
  lower.insert(lower.end(), p.inputTruncationOrPaddingLower.begin(),
               p.inputTruncationOrPaddingLower.end());
  upper.insert(upper.end(), p.inputTruncationOrPaddingUpper.begin(),
               p.inputTruncationOrPaddingUpper.end());
  return popops::pad(graph, in, lower, upper, value);
}

void need(const Tensor &t, const PoolParams &p, const std::vector<std::size_t> &field) {
  std::vector<std::size_t> shape{p.batchSize, p.numChannels};
  shape.insert(shape.end(), field.begin(), field.end());
  if (t.shape() != shape || t.elementType() != p.dType)
    throw poputil::poplibs_error("pooling: " + t.getDebugStr() + " is not what the parameters say");
}

/// 1 / (elements of the input) of each window, in the shape of the output field.
Tensor weights(Graph &graph, const PoolParams &p) {
  const auto field = p.getOutputFieldShape();
  std::vector<float> values{1};
  for (std::size_t d = 0; d < field.size(); ++d) {
    std::vector<float> along;
    for (const float value : values)
      for (std::size_t o = 0; o < field[d]; ++o) {
        unsigned there = 0;
        for (std::size_t k = 0; k < p.kernelShape[d]; ++k) {
          const auto at =
              static_cast<std::ptrdiff_t>(o * p.stride[d] + k) - p.inputTruncationOrPaddingLower[d];
          there += at >= 0 && at < static_cast<std::ptrdiff_t>(p.inputFieldShape[d]);
        }
        along.push_back(there ? value / static_cast<float>(there) : 0);
      }
    values = std::move(along);
  }
  const Tensor t =
      graph.addConstant(p.dType, field, poplar::ArrayRef<float>(values)).expand({0, 0});
  poputil::mapTensorLinearly(graph, t);
  return t;
}

} // namespace

Tensor pool(Graph &graph, const PoolParams &params, const Tensor &in, Sequence &prog,
            const DebugContext &debugContext, const OptionFlags &) {
  need(in, params, params.inputFieldShape);
  const DebugContext dc{debugContext, "pool"};
  const bool most = params.poolingType == PoolingType::MAX;
  std::vector<Tensor> views;
  for (const Tensor &view : places(padded(graph, in, params, most ? lowest(params) : 0.f), params))
    views.push_back(view.expand({0}));
  const auto op = most ? popops::Operation::MAX : popops::Operation::ADD;
  const Tensor out = popops::reduce(graph, poplar::concat(views), {0}, op, prog, dc);
  if (params.poolingType == PoolingType::AVG)
    popops::mulInPlace(graph, out, weights(graph, params), prog, dc);
  return out;
}

namespace {

/// The gradient while it is added up, over the input and the padding around it.
struct Gradient {
  Tensor all, input;           // the input's part of it
  std::vector<Tensor> windows; // as places()
};

Gradient startGradient(Graph &graph, const PoolParams &p, Sequence &prog, const DebugContext &dc) {
  std::vector<std::size_t> shape{p.batchSize, p.numChannels};
  std::vector<std::ptrdiff_t> lower{0, 0}, upper{0, 0}, below{0, 0}, above{0, 0};
  for (std::size_t d = 0; d < p.inputFieldShape.size(); ++d) {
    const int before = p.inputTruncationOrPaddingLower[d],
              after = p.inputTruncationOrPaddingUpper[d];
    shape.push_back(p.inputFieldShape[d] +
                    static_cast<std::size_t>(std::max(before, 0) + std::max(after, 0)));
    lower.push_back(-std::max(before, 0));
    upper.push_back(-std::max(after, 0));
    below.push_back(std::min(before, 0));
    above.push_back(std::min(after, 0));
  }
  Gradient g;
  g.all = graph.addVariable(p.dType, shape, dc);
  poputil::mapTensorLinearly(graph, g.all);
  popops::zero(graph, g.all, prog, dc);
  g.input = popops::pad(graph, g.all, lower, upper);
  g.windows = places(popops::pad(graph, g.all, below, above), p);
  return g;
}

} // namespace

Tensor poolInputGradient(Graph &graph, const PoolParams &params, const Tensor &in,
                         const Tensor &pooled, const Tensor &pooledGradient, bool useScaledGradient,
                         Sequence &prog, const DebugContext &debugContext,
                         const OptionFlags &options) {
  if (params.poolingType != PoolingType::MAX)
    return poolInputGradient(graph, params, 1, pooledGradient, prog, debugContext, options);
  need(in, params, params.inputFieldShape);
  need(pooled, params, params.getOutputFieldShape());
  need(pooledGradient, params, params.getOutputFieldShape());
  using namespace popops::expr;
  const DebugContext dc{debugContext, "poolGradient"};
  const std::vector<Tensor> seen = places(padded(graph, in, params, lowest(params)), params);
  Tensor share = pooledGradient;
  if (useScaledGradient) {
    std::vector<Tensor> equal;
    for (const Tensor &view : seen)
      equal.push_back(
          popops::map(graph, Cast(_1 == _2, params.dType), {view, pooled}, prog, dc).expand({0}));
    const Tensor count =
        popops::reduce(graph, poplar::concat(equal), {0}, popops::Operation::ADD, prog, dc);
    share = popops::div(graph, pooledGradient, count, prog, dc);
  }
  const Gradient gradient = startGradient(graph, params, prog, dc);
  for (std::size_t i = 0; i < seen.size(); ++i)
    popops::mapInPlace(graph, _1 + Select(_4, Const(0.f), _2 == _3),
                       {gradient.windows[i], seen[i], pooled, share}, prog, dc);
  return gradient.input;
}

Tensor poolInputGradient(Graph &graph, const PoolParams &params, unsigned,
                         const Tensor &pooledGradient, Sequence &prog,
                         const DebugContext &debugContext, const OptionFlags &) {
  if (params.poolingType == PoolingType::MAX)
    throw poputil::poplibs_error("the gradient of a maximum needs the input of the pooling");
  need(pooledGradient, params, params.getOutputFieldShape());
  const DebugContext dc{debugContext, "poolGradient"};
  Tensor share = pooledGradient;
  if (params.poolingType == PoolingType::AVG)
    share = popops::mul(graph, pooledGradient, weights(graph, params), prog, dc);
  const Gradient gradient = startGradient(graph, params, prog, dc);
  for (const Tensor &window : gradient.windows)
    popops::addInPlace(graph, window, share, prog, dc);
  return gradient.input;
}

} // namespace pooling
} // namespace popnn
