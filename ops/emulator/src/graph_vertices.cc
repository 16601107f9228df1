#include <algorithm>
#include <string>

#include <poplar/Graph.hpp>

#include "conversion.h"
#include "graph_state.h"

namespace poplar {

using emulator::Connection;
using emulator::VertexInstance;
using emulator::VertexType;
using emulator::View;
using field::Direction;
using field::FieldTable;
using field::Shape;

namespace {

/// A field of a vertex of a graph, with the words for its errors.
struct Place {
  VertexInstance &vertex;
  const FieldTable &table;
  Connection &connection;
  std::string name;

  Place(emulator::GraphState &state, const FieldRef &ref)
      : Place(state.vertices.at(ref.getVertex()), ref.getName()) {}
  Place(VertexInstance &vertex, const std::string &fieldName)
      : vertex(vertex),
        table(vertex.type->table->fields[emulator::fieldIndex(*vertex.type, fieldName)]),
        connection(vertex.fields[static_cast<std::size_t>(&table - vertex.type->table->fields)]),
        name("field '" + fieldName + "' of vertex type '" + vertex.type->table->name + "'") {}

  bool isEdge() const { return table.direction != Direction::None; }
};

void checkEdge(const Place &place) {
  if (!place.isEdge())
    throw graph_connection_error(place.name + " holds an initial value: use setInitialValue");
}

void checkTensor(const Place &place, const Tensor &t) {
  t.view();
  const Type element(place.table.element);
  if (place.table.element != Type::Id::None && t.elementType() != element)
    throw type_error(place.name + " has elements of type " + element.toString() +
                     " and was connected to tensor " + t.getDebugStr());
  if (place.table.direction != Direction::Input && t.containsConstant())
    throw graph_connection_error(place.name + " is written and was connected to a constant, " +
                                 t.getDebugStr());
  if (place.table.direction != Direction::Input && t.containsAliases())
    throw graph_connection_error(place.name +
                                 " is written and was connected to a tensor in which "
                                 "an element occurs twice, " +
                                 t.getDebugStr());
}

void checkFree(const Place &place) {
  if (place.connection.set)
    throw graph_connection_error(place.name + " is connected already");
}

std::shared_ptr<const View> elements(const Tensor &t) { return std::make_shared<View>(t.view()); }

void connectRows(const Place &place, ArrayRef<Tensor> rows) {
  checkFree(place);
  if (!place.connection.rows.empty() && place.connection.rows.size() != rows.size())
    throw graph_connection_error(
        place.name + " was given the size " + std::to_string(place.connection.rows.size()) +
        " and is connected to " + std::to_string(rows.size()) + " tensors");
  place.connection.rows.clear();
  for (const Tensor &row : rows) {
    if (row.rank() > 1)
      throw graph_connection_error(place.name +
                                   " is made of vectors and was connected to a tensor "
                                   "of shape " +
                                   row.shapeToString());
    checkTensor(place, row);
    place.connection.rows.push_back(elements(row));
  }
  place.connection.set = true;
}

} // namespace

VertexRef Graph::addVertex(ComputeSet cs, StringRef vertexType) {
  const auto found = state->vertexTypes.find(vertexType);
  if (found == state->vertexTypes.end() || !found->second.table)
    throw unknown_vertex_type("unknown vertex type '" + vertexType.cloneAsString() +
                              "': is its file added with addCodelets, and if it is a template, "
                              "instantiated for these arguments?");
  if (!cs.valid() || cs.getId() >= state->computeSets.size())
    throw graph_object_creation_error("addVertex: the compute set is none of this graph's");
  VertexInstance vertex;
  vertex.type = &found->second;
  vertex.computeSet = cs.getId();
  vertex.fields.resize(found->second.table->numFields);
  state->vertices.push_back(std::move(vertex));
  state->computeSets[cs.getId()].vertices.push_back(state->vertices.size() - 1);
  return VertexRef(state->vertices.size() - 1);
}

VertexRef Graph::addVertex(ComputeSet cs, StringRef vertexType,
                           ArrayRef<ConnectionDesc> connections) {
  const VertexRef v = addVertex(cs, vertexType);
  for (const ConnectionDesc &c : connections) {
    const std::size_t bracket = c.name.find('[');
    FieldRef field = v[c.name.substr(0, bracket)];
    if (bracket != std::string::npos)
      field = field[std::stoul(c.name.substr(bracket + 1))];
    switch (c.kind) {
    case ConnectionDesc::Kind::Tensor:
      connect(field, c.tensors[0]);
      break;
    case ConnectionDesc::Kind::Tensors:
      connect(field, ArrayRef<Tensor>(c.tensors));
      break;
    case ConnectionDesc::Kind::Value:
      if (Place(*state, field).isEdge())
        connectValue(field, c.value[0]);
      else
        setInitialFieldValue(field, c.value[0]);
      break;
    }
  }
  return v;
}

void Graph::connect(FieldRef field, const Tensor &tensor) {
  const Place place(*state, field);
  checkEdge(place);
  if (field.isIndexed()) {
    if (place.table.shape == Shape::Scalar)
      throw graph_connection_error(place.name + " is a scalar and has no element " +
                                   std::to_string(field.getIndex()));
    checkTensor(place, tensor);
    auto &rows = place.connection.rows;
    if (place.table.shape == Shape::VectorOfVectors || tensor.numElements() == 1) {
      if (rows.size() <= field.getIndex())
        rows.resize(field.getIndex() + 1);
      if (rows[field.getIndex()])
        throw graph_connection_error("element " + std::to_string(field.getIndex()) + " of " +
                                     place.name + " is connected already");
      rows[field.getIndex()] = elements(tensor);
      place.connection.set = true;
      return;
    }
    throw graph_connection_error("element " + std::to_string(field.getIndex()) + " of " +
                                 place.name + " is one element and was connected to tensor " +
                                 tensor.getDebugStr());
  }
  switch (place.table.shape) {
  case Shape::Scalar:
    if (tensor.numElements() != 1)
      throw graph_connection_error(place.name + " is a scalar and was connected to tensor " +
                                   tensor.getDebugStr());
    checkTensor(place, tensor);
    break;
  case Shape::Vector:
    if (tensor.rank() != 1)
      throw graph_connection_error(place.name + " is a vector and was connected to tensor " +
                                   tensor.getDebugStr() + "; flatten() makes it one");
    checkTensor(place, tensor);
    break;
  case Shape::VectorOfVectors: {
    if (tensor.rank() != 2)
      throw graph_connection_error(place.name +
                                   " is a vector of vectors and was connected to "
                                   "tensor " +
                                   tensor.getDebugStr());
    std::vector<Tensor> rows;
    for (std::size_t i = 0; i < tensor.dim(0); ++i)
      rows.push_back(tensor[i]);
    connectRows(place, rows);
    return;
  }
  }
  checkFree(place);
  place.connection.rows = {elements(tensor)};
  place.connection.set = true;
}

void Graph::connect(FieldRef field, ArrayRef<Tensor> tensors) {
  const Place place(*state, field);
  checkEdge(place);
  if (place.table.shape == Shape::VectorOfVectors)
    return connectRows(place, tensors);
  if (place.table.shape == Shape::Scalar)
    throw graph_connection_error(place.name + " is a scalar and was connected to a list");
  // A vector of scalars: the list is one vector.
  View all;
  for (const Tensor &t : tensors) {
    checkTensor(place, t);
    all.append(t.view(), 0, t.numElements());
  }
  checkFree(place);
  place.connection.rows = {std::make_shared<View>(std::move(all))};
  place.connection.set = true;
}

void Graph::connectValue(const FieldRef &field, const FieldData &value) {
  const Place place(*state, field);
  checkEdge(place);
  const Tensor t = addConstant(Type(place.table.element), {}, value, {place.name});
  state->variables.back().withVertex = true;
  const unsigned tile = place.vertex.tile;
  if (tile != emulator::kNoTile)
    state->variables.back().tiles.assign(0, 1, tile);
  connect(field, t);
}

void Graph::setFieldSize(FieldRef field, std::size_t size) {
  const Place place(*state, field);
  if (place.table.shape == Shape::Scalar)
    throw graph_connection_error(place.name + " is a scalar and has no size");
  if (place.isEdge()) {
    place.connection.rows.resize(size);
    return;
  }
  place.connection.value.resize(size * emulator::sizeOf(Type(place.table.element)));
  place.connection.valueCount = size;
  place.connection.set = true;
}

void Graph::setInitialFieldValue(const FieldRef &ref, const FieldData &value) {
  const Place place(*state, ref);
  if (place.isEdge())
    throw graph_connection_error(place.name + " is an edge: connect it to a tensor");
  const Type element(place.table.element);
  if (place.table.element == Type::Id::None)
    throw type_error(place.name + " has a type that no initial value can have");
  if (place.table.shape == Shape::Scalar ? !value.isScalar() : value.isScalar() && !ref.isIndexed())
    throw graph_connection_error(place.name + (value.isScalar() ? " is a vector and was set to a "
                                                                  "scalar"
                                                                : " is a scalar and was set to a "
                                                                  "vector"));
  const std::vector<char> bytes =
      emulator::convert(value.type(), value.bytes().data(), value.size(), element);
  if (ref.isIndexed()) {
    const std::size_t end = (ref.getIndex() + 1) * bytes.size();
    place.connection.value.resize(std::max(place.connection.value.size(), end));
    std::copy(bytes.begin(), bytes.end(),
              place.connection.value.begin() + static_cast<std::ptrdiff_t>(end - bytes.size()));
  } else {
    place.connection.value = bytes;
  }
  place.connection.valueCount = place.connection.value.size() / emulator::sizeOf(element);
  place.connection.set = true;
}

void Graph::setInitialValueHalf(FieldRef field, std::uint16_t bits) {
  half value;
  value.bits = bits;
  setInitialFieldValue(field, FieldData(value));
}

} // namespace poplar
