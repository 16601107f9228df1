#include <poplin/MeshGrid.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

namespace poplin {

poplar::Tensor linspace(poplar::Graph &graph, const poplar::Type &type, float left, float right,
                        std::size_t count, const poplar::DebugContext &debugContext) {
  if (count == 0 || (type != poplar::HALF && type != poplar::FLOAT))
    throw poputil::poplibs_error("a linspace of " + std::to_string(count) + " " + type.toString());
  std::vector<float> values(count, left);
  const float step = (right - left) / static_cast<float>(count > 1 ? count - 1 : 1);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = i + 1 == count && i > 0 ? right : left + static_cast<float>(i) * step;
  const poplar::Tensor t =
      graph.addConstant(type, {count}, poplar::ArrayRef<float>(values), {debugContext, "linspace"});
  poputil::mapTensorLinearly(graph, t);
  return t;
}

std::vector<poplar::Tensor> meshgrid2d(poplar::Graph &, poplar::Tensor x, poplar::Tensor y) {
  if (x.rank() != 1 || y.rank() != 1)
    throw poputil::poplibs_error("a mesh of tensors " + x.shapeToString() + " and " +
                                 y.shapeToString() + ", which are not both of one dimension");
  const auto rows = static_cast<unsigned>(y.numElements());
  const auto columns = static_cast<unsigned>(x.numElements());
  return {x.expand({0}).broadcast(rows, 0), y.expand({1}).broadcast(columns, 1)};
}

} // namespace poplin
