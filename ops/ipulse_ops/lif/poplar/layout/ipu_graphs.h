// The tiles of several IPUs, each IPU as a virtual graph of its own.
#ifndef IPULSE_LIF_POPLAR_IPU_GRAPHS_H
#define IPULSE_LIF_POPLAR_IPU_GRAPHS_H

#include <string>
#include <vector>

#include <poplar/Graph.hpp>

#include "tile_plan.h"

namespace lif {

/// The graph that the op is given, and of each IPU the virtual graph of its range of tiles. What
/// is mapped, is mapped in one of those: to a tile of that IPU, or Poplar refuses. That IPU i has
/// the tiles from i * tilesPerIPU on is inferred; were it not so, results would be the same.
class IpuGraphs {
public:
  IpuGraphs(poplar::Graph &graph, const TilePlan &plan) : whole(graph) {
    for (unsigned ipu = 0; ipu < plan.ipus; ++ipu) {
      firstTiles.push_back(ipu * plan.tilesPerIpu);
      ipus.push_back(graph.createVirtualGraph(firstTiles.back(), (ipu + 1) * plan.tilesPerIpu));
    }
  }

  poplar::Graph &whole;
  /// The virtual graph that a place's tile is one of.
  poplar::Graph &at(Place place) { return ipus[place.ipu]; }
  /// The tile's number in the whole graph.
  unsigned number(Place place) const { return firstTiles[place.ipu] + place.tile; }

  poplar::Tensor addVariable(const poplar::Type &type, const std::vector<std::size_t> &shape,
                             const std::string &name) {
    return whole.addVariable(type, shape, name);
  }
  poplar::Tensor addVariable(const poplar::Type &type, const std::vector<std::size_t> &shape,
                             Place place, const std::string &name) {
    const poplar::Tensor t = whole.addVariable(type, shape, name);
    setTileMapping(t, place);
    return t;
  }
  /// values: one for all elements, or a pointer to as many.
  template <typename T, typename Values>
  poplar::Tensor addConstant(const poplar::Type &type, const std::vector<std::size_t> &shape,
                             Values values, Place place) {
    const poplar::Tensor t = whole.addConstant<T>(type, shape, values);
    setTileMapping(t, place);
    return t;
  }
  poplar::ComputeSet addComputeSet(const std::string &name) { return whole.addComputeSet(name); }
  void setTileMapping(const poplar::Tensor &t, Place place) {
    at(place).setTileMapping(t, place.tile);
  }

private:
  std::vector<unsigned> firstTiles;
  std::vector<poplar::Graph> ipus;
};

} // namespace lif

#endif
