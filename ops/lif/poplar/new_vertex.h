// A vertex and its fields, in one expression.
#ifndef IPULSE_LIF_POPLAR_NEW_VERTEX_H
#define IPULSE_LIF_POPLAR_NEW_VERTEX_H

#include <string>
#include <vector>

#include <poplar/Graph.hpp>

namespace lif {

/// For a field that a vertex has no use for: two elements of its tile.
inline poplar::Tensor unusedField(poplar::Graph &graph, const poplar::Type &type, unsigned tile) {
  const poplar::Tensor t = graph.addConstant<unsigned>(type, {2}, 0u, "unused");
  graph.setTileMapping(t, tile);
  return t;
}

/// The same for a field that a vertex could write to: no two vertices may share one.
inline poplar::Tensor unwrittenField(poplar::Graph &graph, unsigned tile) {
  const poplar::Tensor t = graph.addVariable(poplar::FLOAT, {2}, "unwritten");
  graph.setTileMapping(t, tile);
  return t;
}

class NewVertex {
public:
  NewVertex(poplar::Graph &graph, poplar::ComputeSet set, const std::string &type, unsigned tile)
      : graph(graph), vertex(graph.addVertex(set, type)) {
    graph.setTileMapping(vertex, tile);
  }
  NewVertex &connect(const char *field, const poplar::Tensor &t) {
    graph.connect(vertex[field], t);
    return *this;
  }
  NewVertex &connect(const char *field, const std::vector<poplar::Tensor> &ts) {
    graph.connect(vertex[field], poplar::ArrayRef<poplar::Tensor>(ts));
    return *this;
  }
  template <typename T> NewVertex &set(const char *field, T value) {
    graph.setInitialValue(vertex[field], value);
    return *this;
  }
  NewVertex &set(const char *field, const std::vector<unsigned> &values) {
    graph.setInitialValue(vertex[field], poplar::ArrayRef<unsigned>(values));
    return *this;
  }
  /// In tile cycles: for the IPU model's profile, a device ignores it.
  NewVertex &estimate(double cycles) {
    graph.setPerfEstimate(vertex, static_cast<std::uint64_t>(cycles));
    return *this;
  }

private:
  poplar::Graph &graph;
  poplar::VertexRef vertex;
};

} // namespace lif

#endif
