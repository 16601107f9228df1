// Which tile has which neurons, samples and pieces of work.
#ifndef IPULSE_LIF_POPLAR_TILE_PLAN_H
#define IPULSE_LIF_POPLAR_TILE_PLAN_H

#include <string>
#include <vector>

#include "network.h"

namespace lif {

/// Tile `tile` of an IPU.
struct Place {
  unsigned ipu, tile;
  bool operator<(const Place &other) const {
    return ipu < other.ipu || (ipu == other.ipu && tile < other.tile);
  }
};

/// Neurons [begin, end) of a layer, on one tile, in pairs: an odd last one gets a silent partner.
struct TilePart {
  Place place;
  unsigned begin, end;
  unsigned neurons() const { return end - begin; }
  unsigned pairs() const { return (neurons() + 1) / 2; }
  unsigned row() const { return 2 * pairs(); } // floats
};

/// Candidates for slots are listed by chunks of neurons for groups of samples, each on one tile.
struct Chunk {
  Place place;
  unsigned firstSample, samples, firstNeuron, neurons;
};

/// Every layer lies on one IPU. Tile 0 of each has the loop's counter and no neurons.
class TilePlan {
public:
  /// The samples decide on the chunks alone. Raises poputil::poplibs_error if an IPU has fewer
  /// tiles than layers.
  TilePlan(const Network &network, unsigned batch, unsigned tilesPerIpu);

  std::vector<std::vector<TilePart>> layers;
  std::vector<std::vector<Chunk>> chunks; // of the layers that spike
  std::vector<unsigned> ipuOfLayer;
  unsigned ipus;
  unsigned tilesPerIpu;

  /// The tile that keeps a sample's spikes of a source: 0 is the input, l + 1 is layer l.
  Place sampleTile(unsigned source, unsigned sample) const;
  unsigned ipuOfSource(unsigned source) const { return source == 0 ? 0 : ipuOfLayer[source - 1]; }
  /// Whether a source's spikes go to a layer of another IPU.
  bool crosses(unsigned source) const {
    return source < ipuOfLayer.size() && ipuOfLayer[source] != ipuOfSource(source);
  }
  Place counterTile(unsigned ipu) const { return {ipu, 0}; }
  /// Tile `index`, counted around, of those of an IPU that are not the counter's.
  Place workTile(unsigned ipu, std::size_t index) const;

  /// Work of a step on each tile that has neurons, in units of a pair of neurons adding a weight.
  std::vector<double> loads() const;
  /// JSON: mapping, by layer IPU, first tile, tiles and neurons a tile; and the balance of loads,
  /// mean over maximum of the tiles with neurons.
  std::string report() const;

private:
  std::vector<double> pairCosts;
  Mapping mapping;
  void placeLayers(const Network &network, unsigned ipu, unsigned first, unsigned last);
};

} // namespace lif

#endif
