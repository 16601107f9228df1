#include "tile_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include <poputil/exceptions.hpp>

namespace lif {
namespace {

// A pair's update costs about what this many spikes do (counted on the emulator's codelets).
constexpr double kUpdateCost = 8;
constexpr unsigned kSamplesAtOnce = 6; // one a worker

unsigned ceilDivide(std::size_t a, std::size_t b) { return static_cast<unsigned>((a + b - 1) / b); }

/// Layers [first, last) by IPU, in order, so that the heaviest IPU is as light as can be.
std::vector<unsigned> splitOverIpus(const std::vector<double> &weights, unsigned ipus) {
  const unsigned n = static_cast<unsigned>(weights.size());
  std::vector<double> before(n + 1);
  for (unsigned l = 0; l < n; ++l)
    before[l + 1] = before[l] + weights[l];
  // best[i][l]: the heaviest of i IPUs with the first l layers; from[i][l]: where the last begins.
  std::vector<std::vector<double>> best(ipus + 1, std::vector<double>(n + 1, INFINITY));
  std::vector<std::vector<unsigned>> from(ipus + 1, std::vector<unsigned>(n + 1));
  best[0][0] = 0;
  for (unsigned i = 1; i <= ipus; ++i) {
    for (unsigned l = i; l <= n; ++l) {
      for (unsigned start = i - 1; start < l; ++start) {
        const double heaviest = std::max(best[i - 1][start], before[l] - before[start]);
        if (heaviest < best[i][l])
          best[i][l] = heaviest, from[i][l] = start;
      }
    }
  }
  std::vector<unsigned> ipuOf(n);
  for (unsigned i = ipus, end = n; i > 0; --i) {
    for (unsigned l = from[i][end]; l < end; ++l)
      ipuOf[l] = i - 1;
    end = from[i][end];
  }
  return ipuOf;
}

} // namespace

TilePlan::TilePlan(const Network &network, unsigned batch, unsigned tilesPerIpu)
    : ipus(network.ipus), tilesPerIpu(tilesPerIpu), mapping(network.mapping),
      splitsNeurons(network.splitsNeurons) {
  unsigned slots = network.inputSlots;
  for (const Layer &layer : network.layers) {
    const unsigned l = static_cast<unsigned>(pairCosts.size());
    weightsPerNeuron.push_back(network.senders(l) + (layer.recurrent ? layer.neurons : 0));
    pairCosts.push_back(kUpdateCost + slots + (layer.recurrent ? layer.slots : 0));
    spiking.push_back(layer.spiking);
    slots = layer.slots;
    const std::size_t number = names.size() + 1;
    const bool last = number > 1 && number == network.layers.size();
    names.push_back(last ? "readout" : "layer" + std::to_string(number));
  }
  layers.resize(network.layers.size());
  ranges.resize(network.layers.size());
  splitLayers(network);
  for (unsigned ipu = 0; ipu < ipus; ++ipu)
    placeNeurons(ipu);
  placeChunks(batch);
}

void TilePlan::splitLayers(const Network &network) {
  std::vector<double> memory;
  for (unsigned l = 0; l < network.layers.size(); ++l) {
    const Layer &layer = network.layers[l];
    const unsigned senders = network.senders(l) + (layer.recurrent ? layer.neurons : 0);
    memory.push_back(double(layer.neurons) * senders);
  }
  const std::vector<unsigned> ipuOf =
      splitsNeurons ? std::vector<unsigned>(memory.size()) : splitOverIpus(memory, ipus);
  for (unsigned l = 0; l < network.layers.size(); ++l) {
    const Layer &layer = network.layers[l];
    const unsigned size = network.rangeSize(layer);
    for (unsigned r = 0; r < network.rangesOf(layer); ++r)
      ranges[l].push_back({ipuOf[l] + r, r * size, std::min((r + 1) * size, layer.neurons), {}});
  }
}

void TilePlan::placeChunks(unsigned batch) {
  // A worker looks at a chunk's neurons one by one, and joining looks at the chunks one by one:
  // this is where the sum of both is least (22 and 24 bundles, counted by the emulator).
  const unsigned groups = ceilDivide(batch, kSamplesAtOnce);
  for (unsigned l = 0; l < ranges.size(); ++l) {
    for (Range &range : ranges[l]) {
      if (!spiking[l])
        continue;
      const unsigned neurons = range.end - range.begin;
      const double fewest = std::sqrt(22.0 / 24 * neurons);
      const unsigned most = std::max(1u, std::min(neurons, tilesPerIpu / groups));
      const unsigned number = std::min(most, std::max(1u, unsigned(fewest)));
      const unsigned size = ceilDivide(neurons, number);
      std::size_t index = 0;
      for (unsigned b = 0; b < batch; b += kSamplesAtOnce)
        for (unsigned n = range.begin; n < range.end; n += size)
          range.chunks.push_back({workTile(range.ipu, index++), b,
                                  std::min(kSamplesAtOnce, batch - b), n,
                                  std::min(size, range.end - n)});
    }
  }
}

Place TilePlan::workTile(unsigned ipu, std::size_t index) const {
  const unsigned most = std::max(1u, tilesPerIpu - 1);
  return {ipu, tilesPerIpu == 1 ? 0 : 1 + static_cast<unsigned>(index % most)};
}

Place SampleTiles::operator[](std::size_t sample) const {
  // Sources are distributed from the last tile down, to tiles with the fewest neurons.
  const std::size_t most = std::max(1u, plan->tilesPerIpu - 1);
  const std::size_t back = (sample + 97 * std::size_t{source}) % most;
  return plan->workTile(ipu, most - 1 - back);
}

std::vector<unsigned> TilePlan::ipusOf(unsigned source) const {
  if (source == 0)
    return {0};
  std::vector<unsigned> found;
  for (const Range &range : ranges[source - 1])
    found.push_back(range.ipu);
  return found;
}

std::vector<unsigned> TilePlan::ipusWith(unsigned source) const {
  std::vector<unsigned> found = ipusOf(source);
  if (source < ranges.size())
    for (const Range &range : ranges[source])
      found.push_back(range.ipu);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void TilePlan::placeNeurons(unsigned ipu) {
  struct Piece {
    unsigned layer, begin, neurons;
    unsigned pairs() const { return ceilDivide(neurons, 2); }
  };
  std::vector<Piece> pieces;
  for (unsigned l = 0; l < ranges.size(); ++l)
    for (const Range &range : ranges[l])
      if (range.ipu == ipu)
        pieces.push_back({l, range.begin, range.end - range.begin});
  const unsigned tiles = std::max(1u, tilesPerIpu - 1);
  // Pairs a tile of each layer, if no tile may have more than `load`.
  const auto pairsATile = [&](unsigned l, double load) {
    const double cost = mapping == Mapping::Capacity ? pairCosts[l] : 1;
    return std::max(1u, static_cast<unsigned>(std::min(load / cost, 32768.0)));
  };
  const auto needed = [&](double load) {
    unsigned sum = 0;
    for (const Piece &piece : pieces)
      sum += ceilDivide(piece.pairs(), pairsATile(piece.layer, load));
    return sum;
  };
  double load = 0;
  if (mapping != Mapping::Linear) {
    double low = 0, high = 1;
    while (needed(high) > tiles && high < 1e12)
      high *= 2;
    if (needed(high) > tiles)
      throw poputil::poplibs_error("LIF op: " + std::to_string(pieces.size()) + " layers on " +
                                   std::to_string(tiles) +
                                   " tiles of an IPU; each layer needs "
                                   "one tile at least. Use more IPUs or mapping=linear");
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (needed(middle) > tiles ? low : high) = middle;
    }
    load = high;
  }
  std::size_t next = 0;
  for (const Piece &piece : pieces) {
    const unsigned most = mapping == Mapping::Linear ? ceilDivide(piece.pairs(), tiles)
                                                     : pairsATile(piece.layer, load);
    // The fewest tiles, with shares as even as whole pairs allow.
    const unsigned parts = ceilDivide(piece.pairs(), most);
    if (mapping == Mapping::Linear)
      next = 0;
    for (unsigned p = 0; p < parts; ++p) {
      const auto bound = [&](unsigned i) {
        const auto pair = static_cast<unsigned>(std::size_t{piece.pairs()} * i / parts);
        return piece.begin + std::min(2 * pair, piece.neurons);
      };
      layers[piece.layer].push_back({workTile(ipu, next++), bound(p), bound(p + 1)});
    }
  }
}

std::vector<double> TilePlan::loads() const {
  std::map<Place, double> byTile;
  for (unsigned l = 0; l < layers.size(); ++l)
    for (const TilePart &part : layers[l])
      byTile[part.place] += part.pairs() * pairCosts[l];
  std::vector<double> found;
  for (const auto &tile : byTile)
    found.push_back(tile.second);
  return found;
}

double TilePlan::worstLoad(unsigned layer) const {
  double most = 0;
  for (const TilePart &part : layers[layer])
    most = std::max(most, part.pairs() * pairCosts[layer]);
  return most;
}

std::string TilePlan::report() const {
  static const char *const names[] = {"capacity", "neurons", "linear"};
  const std::vector<double> found = loads();
  double sum = 0;
  for (const double load : found)
    sum += load;
  std::ostringstream out;
  out << "{\"mapping\": \"" << names[static_cast<unsigned>(mapping)] << "\", \"ipus\": " << ipus
      << ", \"split\": \"" << (splitsNeurons ? "neurons" : "layers")
      << "\", \"tiles_per_ipu\": " << tilesPerIpu << ", \"layers\": [";
  for (unsigned l = 0; l < layers.size(); ++l) {
    unsigned most = 0, neurons = 0;
    std::size_t chunks = 0;
    std::string on;
    for (const TilePart &part : layers[l]) {
      most = std::max(most, part.neurons());
      neurons += part.neurons();
    }
    for (const Range &range : ranges[l]) {
      chunks += range.chunks.size();
      on += (on.empty() ? "" : ", ") + std::to_string(range.ipu);
    }
    out << (l ? ", " : "") << "{\"ipus\": [" << on
        << "], \"first_tile\": " << layers[l].front().place.tile
        << ", \"tiles\": " << layers[l].size() << ", \"neurons\": " << neurons
        << ", \"most_neurons\": " << most << ", \"work\": " << worstLoad(l)
        << ", \"weights_per_neuron\": " << weightsPerNeuron[l] << ", \"chunks\": " << chunks << "}";
  }
  out << "], \"tiles_used\": " << found.size() << ", \"load_balance\": "
      << sum / (static_cast<double>(found.size()) * *std::max_element(found.begin(), found.end()))
      << "}";
  return out.str();
}

} // namespace lif
