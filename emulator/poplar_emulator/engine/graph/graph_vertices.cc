#include <string>

#include <poplar/Graph.hpp>

#include "vertex_field.h"

namespace poplar {

using emulator::VertexField;
using emulator::VertexInstance;
using emulator::View;
using field::Direction;
using field::Shape;

namespace {

void checkTensor(const VertexField &at, const Tensor &t) {
  checkOwn(at.graph, t);
  const Type element(at.table.element);
  if (at.table.element != Type::Id::None && t.elementType() != element)
    throw type_error(at.name + " has elements of type " + element.toString() +
                     " and was connected to tensor " + t.getDebugStr());
  if (at.table.direction != Direction::Input && t.containsConstant())
    throw graph_connection_error(at.name + " is written and was connected to a constant, " +
                                 t.getDebugStr());
  if (at.table.direction != Direction::Input && t.containsAliases())
    throw graph_connection_error(at.name +
                                 " is written and was connected to a tensor in which "
                                 "an element occurs twice, " +
                                 t.getDebugStr());
}

void checkFree(const VertexField &at) {
  if (at.connection.set)
    throw graph_connection_error(at.name + " is connected already");
}

std::shared_ptr<const View> elements(const Tensor &t) { return std::make_shared<View>(t.view()); }

void connectRows(const VertexField &at, ArrayRef<Tensor> rows) {
  checkFree(at);
  if (!at.connection.rows.empty() && at.connection.rows.size() != rows.size())
    throw graph_connection_error(
        at.name + " was given the size " + std::to_string(at.connection.rows.size()) +
        " and is connected to " + std::to_string(rows.size()) + " tensors");
  at.connection.rows.clear();
  for (const Tensor &row : rows) {
    if (row.rank() > 1)
      throw graph_connection_error(at.name +
                                   " is made of vectors and was connected to a tensor "
                                   "of shape " +
                                   row.shapeToString());
    checkTensor(at, row);
    at.connection.rows.push_back(elements(row));
  }
  at.connection.set = true;
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
      if (VertexField(*state, field).isEdge())
        connectValue(field, c.value[0]);
      else
        setInitialFieldValue(field, c.value[0]);
      break;
    }
  }
  return v;
}

void Graph::connect(FieldRef field, const Tensor &tensor) {
  const VertexField at(*state, field);
  at.needEdge();
  if (field.isIndexed()) {
    if (at.table.shape == Shape::Scalar)
      throw graph_connection_error(at.name + " is a scalar and has no element " +
                                   std::to_string(field.getIndex()));
    checkTensor(at, tensor);
    auto &rows = at.connection.rows;
    if (at.table.shape == Shape::VectorOfVectors || tensor.numElements() == 1) {
      if (rows.size() <= field.getIndex())
        rows.resize(field.getIndex() + 1);
      if (rows[field.getIndex()])
        throw graph_connection_error("element " + std::to_string(field.getIndex()) + " of " +
                                     at.name + " is connected already");
      rows[field.getIndex()] = elements(tensor);
      at.connection.set = true;
      return;
    }
    throw graph_connection_error("element " + std::to_string(field.getIndex()) + " of " + at.name +
                                 " is one element and was connected to tensor " +
                                 tensor.getDebugStr());
  }
  switch (at.table.shape) {
  case Shape::Scalar:
    if (tensor.numElements() != 1)
      throw graph_connection_error(at.name + " is a scalar and was connected to tensor " +
                                   tensor.getDebugStr());
    checkTensor(at, tensor);
    break;
  case Shape::Vector:
    if (tensor.rank() != 1)
      throw graph_connection_error(at.name + " is a vector and was connected to tensor " +
                                   tensor.getDebugStr() + "; flatten() makes it one");
    checkTensor(at, tensor);
    break;
  case Shape::VectorOfVectors: {
    if (tensor.rank() != 2)
      throw graph_connection_error(at.name +
                                   " is a vector of vectors and was connected to "
                                   "tensor " +
                                   tensor.getDebugStr());
    std::vector<Tensor> rows;
    for (std::size_t i = 0; i < tensor.dim(0); ++i)
      rows.push_back(tensor[i]);
    connectRows(at, rows);
    return;
  }
  }
  checkFree(at);
  at.connection.rows = {elements(tensor)};
  at.connection.set = true;
}

void Graph::connect(FieldRef field, ArrayRef<Tensor> tensors) {
  const VertexField at(*state, field);
  at.needEdge();
  if (at.table.shape == Shape::VectorOfVectors)
    return connectRows(at, tensors);
  if (at.table.shape == Shape::Scalar)
    throw graph_connection_error(at.name + " is a scalar and was connected to a list");
  // A vector of scalars: the list is one vector.
  View all;
  for (const Tensor &t : tensors) {
    checkTensor(at, t);
    all.append(t.view(), 0, t.numElements());
  }
  checkFree(at);
  at.connection.rows = {std::make_shared<View>(std::move(all))};
  at.connection.set = true;
}

} // namespace poplar
