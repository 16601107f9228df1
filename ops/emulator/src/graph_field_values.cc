// What fields are set to, where they are not connected to a tensor.
#include <algorithm>

#include <poplar/Graph.hpp>

#include "conversion.h"
#include "vertex_field.h"

namespace poplar {

using emulator::VertexField;
using field::Shape;

void Graph::connectValue(const FieldRef &field, const FieldData &value) {
  const VertexField at(*state, field);
  at.needEdge();
  const Tensor t = addConstant(Type(at.table.element), {}, value, {at.name});
  state->variables.back().withVertex = true;
  const unsigned tile = at.vertex.tile;
  if (tile != emulator::kNoTile)
    state->variables.back().tiles.assign(0, 1, tile);
  connect(field, t);
}

void Graph::setFieldSize(FieldRef field, std::size_t size) {
  const VertexField at(*state, field);
  if (at.table.shape == Shape::Scalar)
    throw graph_connection_error(at.name + " is a scalar and has no size");
  if (at.isEdge()) {
    at.connection.rows.resize(size);
    return;
  }
  at.connection.value.resize(size * emulator::sizeOf(Type(at.table.element)));
  at.connection.valueCount = size;
  at.connection.set = true;
}

void Graph::setInitialFieldValue(const FieldRef &ref, const FieldData &value) {
  const VertexField at(*state, ref);
  if (at.isEdge())
    throw graph_connection_error(at.name + " is an edge: connect it to a tensor");
  const Type element(at.table.element);
  if (at.table.element == Type::Id::None)
    throw type_error(at.name + " has a type that no initial value can have");
  if (at.table.shape == Shape::Scalar ? !value.isScalar() : value.isScalar() && !ref.isIndexed())
    throw graph_connection_error(at.name + (value.isScalar() ? " is a vector and was set to a "
                                                               "scalar"
                                                             : " is a scalar and was set to a "
                                                               "vector"));
  const std::vector<char> bytes =
      emulator::convert(value.type(), value.bytes().data(), value.size(), element);
  if (ref.isIndexed()) {
    const std::size_t end = (ref.getIndex() + 1) * bytes.size();
    at.connection.value.resize(std::max(at.connection.value.size(), end));
    std::copy(bytes.begin(), bytes.end(),
              at.connection.value.begin() + static_cast<std::ptrdiff_t>(end - bytes.size()));
  } else {
    at.connection.value = bytes;
  }
  at.connection.valueCount = at.connection.value.size() / emulator::sizeOf(element);
  at.connection.set = true;
}

void Graph::setInitialValueHalf(FieldRef field, std::uint16_t bits) {
  half value;
  value.bits = bits;
  setInitialFieldValue(field, FieldData(value));
}

void Graph::setInitialValueHalf(const Tensor &t, std::uint16_t bits) {
  setInitialValueHalf(t, std::vector<std::uint16_t>(t.numElements(), bits));
}

void Graph::setInitialValueHalf(const Tensor &t, ArrayRef<std::uint16_t> bits) {
  std::vector<half> values(bits.size());
  for (std::size_t i = 0; i < bits.size(); ++i)
    values[i].bits = bits[i];
  setInitialTensorValue(t, FieldData(values));
}

} // namespace poplar
