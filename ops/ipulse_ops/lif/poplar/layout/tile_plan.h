// Which tile has which neurons, samples and pieces of work.
#ifndef IPULSE_LIF_POPLAR_TILE_PLAN_H
#define IPULSE_LIF_POPLAR_TILE_PLAN_H

#include <string>
#include <vector>

#include "builders/network.h"

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

/// Neurons [begin, end) of a layer, on one IPU.
struct Range {
  unsigned ipu, begin, end;
  std::vector<Chunk> chunks; // of a layer that spikes
};

class TilePlan;

/// The tiles of an IPU that keep the spikes of a source's samples: 0 is the input, l + 1 is layer
/// l.
struct SampleTiles {
  const TilePlan *plan;
  unsigned source, ipu;
  Place operator[](std::size_t sample) const;
};

/// A layer lies on one IPU, or in ranges on all of them; see Network. Tile 0 of each has the loop's
/// counter and no neurons.
class TilePlan {
public:
  /// The samples decide on the chunks alone. Raises poputil::poplibs_error if an IPU has fewer
  /// tiles than layers.
  TilePlan(const Network &network, unsigned batch, unsigned tilesPerIpu);

  std::vector<std::vector<TilePart>> layers; // of all ranges, neurons in order
  std::vector<std::vector<Range>> ranges;    // of each layer, on IPUs in a row
  unsigned ipus;
  unsigned tilesPerIpu;
  /// The layers' names, which profiles show as a part of the names of steps and variables:
  /// "layer1", "layer2", ...; the last of several is "readout".
  std::vector<std::string> names;

  /// The IPUs where a source's neurons are; of the input, where it comes in.
  std::vector<unsigned> ipusOf(unsigned source) const;
  /// Returns these IPUs and those with neurons that receive its spikes, in order.
  std::vector<unsigned> ipusWith(unsigned source) const;
  /// On the first IPU of a source's neurons, or on any.
  SampleTiles samples(unsigned source) const { return samples(source, ipusOf(source)[0]); }
  SampleTiles samples(unsigned source, unsigned ipu) const { return {this, source, ipu}; }
  /// The number of a layer's range on an IPU.
  std::size_t rangeOn(unsigned layer, unsigned ipu) const { return ipu - ranges[layer][0].ipu; }
  Place counterTile(unsigned ipu) const { return {ipu, 0}; }
  /// Tile `index`, counted around, of those of an IPU that are not the counter's.
  Place workTile(unsigned ipu, std::size_t index) const;

  /// Work of a step on each tile that has neurons, in units of a pair of neurons adding a weight.
  std::vector<double> loads() const;
  /// JSON: mapping, split, by layer its IPUs, first tile, tiles, neurons and work a tile; the
  /// balance of loads, mean over maximum of the tiles with neurons.
  std::string report() const;

private:
  std::vector<double> pairCosts;
  std::vector<unsigned> weightsPerNeuron; // by layer
  std::vector<bool> spiking;
  Mapping mapping;
  bool splitsNeurons;
  /// The largest load of a layer on a tile.
  double worstLoad(unsigned layer) const;
  void splitLayers(const Network &network);
  void placeNeurons(unsigned ipu);
  void placeChunks(unsigned batch);
};

} // namespace lif

#endif
