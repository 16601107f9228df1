// Values of fields that are not connected to a tensor.
#include <algorithm>

#include <poplar/Graph.hpp>
#include <poplar/exceptions.hpp>

#include "codelets/conversion.h"
#include "support/sanitize.h"
#include "vertex_field.h"

namespace poplar {

using emulator::VertexField;
using field::Shape;

namespace {

/// The values of a field, or those of a row of a vector of vectors.
std::vector<char> &rowOf(const VertexField &at, const FieldRef &ref) {
  std::vector<std::vector<char>> &rows = at.connection.values;
  const std::size_t row = at.table.shape == Shape::VectorOfVectors ? ref.getIndex() : 0;
  rows.resize(std::max(rows.size(), row + 1));
  return rows[row];
}

/// Raises overflow_error if an integer field cannot have the value that it is set to.
void needFit(const FieldData &value, const std::vector<char> &converted, const Type &element,
             const std::string &name) {
  if (element == HALF || element == FLOAT)
    return;
  const auto wide = [&](const Type &type, const std::vector<char> &bytes) {
    return emulator::convert(type, bytes.data(), value.size(), LONGLONG);
  };
  if (emulator::convert(element, converted.data(), value.size(), value.type()) != value.bytes() ||
      (value.type() != FLOAT && value.type() != HALF &&
       wide(element, converted) != wide(value.type(), value.bytes())))
    throw overflow_error(name + " is of type " + element.toString().cloneAsString() +
                         ", which cannot represent the value that it is set to");
}

} // namespace

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
  const std::size_t bytes = size * emulator::sizeOf(Type(at.table.element));
  if (at.table.shape == Shape::VectorOfVectors && !field.isIndexed())
    at.connection.values.resize(size);
  else
    rowOf(at, field).resize(bytes);
  at.connection.set = true;
}

void Graph::setInitialFieldValue(const FieldRef &ref, const FieldData &value) {
  const VertexField at(*state, ref);
  if (at.isEdge())
    throw graph_connection_error(at.name + " is an edge: connect it to a tensor");
  const Type element(at.table.element);
  if (at.table.element == Type::Id::None)
    throw type_error(at.name + " has a type that no initial value can have");
  if (at.table.shape == Shape::Scalar && ref.isIndexed())
    throw graph_connection_error(at.name + " is a scalar and has no element " +
                                 std::to_string(ref.getIndex()));
  static const char *const kinds[] = {"a scalar", "a vector", "a vector of vectors"};
  const unsigned dimensions = static_cast<unsigned>(at.table.shape), given = !value.isScalar();
  if (dimensions - ref.isIndexed() != given)
    throw graph_connection_error((ref.isIndexed() ? "an element of " : "") + at.name + " is " +
                                 kinds[dimensions - ref.isIndexed()] + " and was set to " +
                                 kinds[given]);
  const std::vector<char> bytes =
      emulator::convert(value.type(), value.bytes().data(), value.size(), element);
  if (emulator::sanitizes())
    needFit(value, bytes, element, at.name);
  if (at.table.shape == Shape::Vector && ref.isIndexed()) {
    std::vector<char> &row = rowOf(at, ref);
    const std::size_t end = (ref.getIndex() + 1) * bytes.size();
    row.resize(std::max(row.size(), end));
    std::copy(bytes.begin(), bytes.end(),
              row.begin() + static_cast<std::ptrdiff_t>(end - bytes.size()));
  } else {
    rowOf(at, ref) = bytes;
  }
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
