#include "array_vertices.h"

#include <cstddef>

namespace poplar::emulator {

BuiltinVertex arrayVertex(const char *library, const char *name, unsigned use,
                          bool (*compute)(void *, unsigned), PerfEstimateFunc cycles) {
  using field::Direction;
  using field::Shape;
  auto fields = std::make_shared<std::vector<field::FieldTable>>();
  const auto edge = [&](const char *fieldName, std::size_t offset, Direction direction,
                        Shape shape) {
    fields->push_back(anyField(fieldName, offset, direction, shape));
  };
  if (use & kRows)
    edge("rows", offsetof(ArrayVertex, rows), Direction::Input, Shape::VectorOfVectors);
  if (use & kScalar)
    edge("scalar", offsetof(ArrayVertex, scalar), Direction::Input, Shape::Scalar);
  if (use & kIndices)
    edge("indices", offsetof(ArrayVertex, indices), Direction::Input, Shape::Vector);
  if (use & (kOut | kOutRows))
    edge("out", offsetof(ArrayVertex, out), Direction::Output,
         use & kOut ? Shape::Vector : Shape::VectorOfVectors);
  if (use & (kInOut | kInOutRows))
    edge("inout", offsetof(ArrayVertex, inout), Direction::InOut,
         use & kInOut ? Shape::Vector : Shape::VectorOfVectors);
  const auto value = [&](const char *fieldName, std::size_t offset, Type::Id element) {
    fields->push_back(valueField(fieldName, offset, Shape::Scalar, element));
  };
  value("type", offsetof(ArrayVertex, type), Type::Id::UnsignedInt);
  value("outType", offsetof(ArrayVertex, outType), Type::Id::UnsignedInt);
  value("choice", offsetof(ArrayVertex, choice), Type::Id::UnsignedInt);
  value("a", offsetof(ArrayVertex, a), Type::Id::Float);
  value("b", offsetof(ArrayVertex, b), Type::Id::Float);
  return {library,
          {name, sizeof(ArrayVertex), alignof(ArrayVertex), field::Kind::SupervisorVertex,
           fields->data(), static_cast<unsigned>(fields->size()), compute, 300},
          std::move(cycles),
          fields};
}

} // namespace poplar::emulator
