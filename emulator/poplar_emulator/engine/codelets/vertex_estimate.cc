#include "vertex_estimate.h"

#include <poplar/VertexIntrospector.hpp>

namespace poplar::emulator {
namespace {

using field::Direction;
using field::FieldTable;
using field::Shape;

/// Presents a vertex of a graph to its perf estimator.
class Introspector : public VertexIntrospector {
public:
  explicit Introspector(const VertexInstance &vertex) : vertex(vertex) {}
  FieldIntrospector getFieldInfo(StringRef name) const override {
    const unsigned f = fieldIndex(*vertex.type, name);
    const FieldTable &table = vertex.type->table->fields[f];
    const Connection &c = vertex.fields[f];
    std::vector<std::size_t> sizes;
    for (const auto &row : c.rows)
      sizes.push_back(row->size());
    std::vector<char> values;
    for (const std::vector<char> &row : c.values) {
      sizes.push_back(row.size() / sizeOf(Type(table.element)));
      values.insert(values.end(), row.begin(), row.end());
    }
    if (sizes.empty() && table.direction == Direction::None)
      sizes.push_back(0);
    return {std::move(sizes), table.shape == Shape::VectorOfVectors, Type(table.element),
            table.layout, std::move(values)};
  }

private:
  const VertexInstance &vertex;
};

} // namespace

std::optional<VertexPerfEstimate> estimateOf(const GraphState &graph,
                                             const VertexInstance &vertex) {
  if (graph.machine.type == TargetType::IPU_MODEL || vertex.type->library->isBuiltin())
    return givenEstimate(graph, vertex);
  return std::nullopt;
}

std::optional<VertexPerfEstimate> givenEstimate(const GraphState &graph,
                                                const VertexInstance &vertex) {
  if (vertex.estimate)
    return vertex.estimate;
  if (vertex.type->estimator)
    return vertex.type->estimator(Introspector(vertex),
                                  Target(std::make_shared<Machine>(graph.machine)));
  return std::nullopt;
}

} // namespace poplar::emulator
