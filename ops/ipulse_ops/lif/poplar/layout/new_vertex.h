// A vertex and its fields, in one expression.
#ifndef IPULSE_LIF_POPLAR_NEW_VERTEX_H
#define IPULSE_LIF_POPLAR_NEW_VERTEX_H

#include <string>
#include <vector>

#include <poplar/Graph.hpp>

#include "ipu_graphs.h"

namespace lif {

/// For a field that a vertex has no use for: two elements of its tile.
inline poplar::Tensor unusedField(IpuGraphs &graph, const poplar::Type &type, Place place) {
  return graph.addConstant<unsigned>(type, {2}, 0u, place);
}

/// The same for a field that a vertex could write to: no two vertices may share one.
inline poplar::Tensor unwrittenField(IpuGraphs &graph, Place place,
                                     const poplar::Type &type = poplar::FLOAT) {
  return graph.addVariable(type, {2}, place, "unwritten");
}

/// Returns the largest number of items per worker if six workers share `n`.
inline double shareOf(std::size_t n) { return static_cast<double>((n + 5) / 6); }

class NewVertex {
public:
  NewVertex(poplar::Graph &graph, poplar::ComputeSet set, const std::string &type, unsigned tile)
      : graph(graph), vertex(graph.addVertex(set, type)) {
    graph.setTileMapping(vertex, tile);
  }
  NewVertex(IpuGraphs &graph, poplar::ComputeSet set, const std::string &type, Place place)
      : NewVertex(graph.at(place), set, type, place.tile) {}
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
  /// In tile cycles, for the IPU model's profile; a device ignores it. What the vertex takes when
  /// there is all to do that there can be: filled slots of which as many as can are one worker's,
  /// every neuron a candidate, every reset recorded. Figures are of what the emulator counts with
  /// the surrogate superspike, and six times a worker's bundles.
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
