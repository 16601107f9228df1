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
    : ipus(network.ipus), tilesPerIpu(tilesPerIpu), mapping(network.mapping) {
  std::vector<double> memory;
  unsigned senders = network.inputs, slots = network.inputSlots;
  for (const Layer &layer : network.layers) {
    pairCosts.push_back(kUpdateCost + slots + (layer.recurrent ? layer.slots : 0));
    memory.push_back(double(layer.neurons) * (senders + (layer.recurrent ? layer.neurons : 0)));
    senders = layer.neurons;
    slots = layer.slots;
  }
  layers.resize(network.layers.size());
  chunks.resize(network.layers.size());
  ipuOfLayer = splitOverIpus(memory, ipus);
  for (unsigned first = 0, last; first < layers.size(); first = last) {
    for (last = first; last < layers.size() && ipuOfLayer[last] == ipuOfLayer[first];)
      ++last;
    placeLayers(network, ipuOfLayer[first], first, last);
  }
  for (unsigned l = 0; l < layers.size(); ++l) {
    const Layer &layer = network.layers[l];
    if (!layer.spiking)
      continue;
    // A worker looks at a chunk's neurons one by one, and joining looks at the chunks one by one:
    // this is where the sum of both is least (22 and 24 bundles, counted by the emulator).
    const unsigned groups = ceilDivide(batch, kSamplesAtOnce);
    const double fewest = std::sqrt(22.0 / 24 * layer.neurons);
    const unsigned most = std::max(1u, std::min(layer.neurons, tilesPerIpu / groups));
    const unsigned number = std::min(most, std::max(1u, unsigned(fewest)));
    const unsigned size = ceilDivide(layer.neurons, number);
    std::size_t index = 0;
    for (unsigned b = 0; b < batch; b += kSamplesAtOnce)
      for (unsigned n = 0; n < layer.neurons; n += size)
        chunks[l].push_back({workTile(ipuOfLayer[l], index++), b,
                             std::min(kSamplesAtOnce, batch - b), n,
                             std::min(size, layer.neurons - n)});
  }
}

Place TilePlan::workTile(unsigned ipu, std::size_t index) const {
  const unsigned most = std::max(1u, tilesPerIpu - 1);
  return {ipu, tilesPerIpu == 1 ? 0 : 1 + static_cast<unsigned>(index % most)};
}

Place TilePlan::sampleTile(unsigned source, unsigned sample) const {
  // From the last tile down, so that sources spread and meet the fewest neurons.
  const std::size_t most = std::max(1u, tilesPerIpu - 1);
  const std::size_t back = (std::size_t{sample} + 97 * source) % most;
  return workTile(ipuOfSource(source), most - 1 - back);
}

void TilePlan::placeLayers(const Network &network, unsigned ipu, unsigned first, unsigned last) {
  const unsigned tiles = std::max(1u, tilesPerIpu - 1);
  const auto pairsOf = [&](unsigned l) { return ceilDivide(network.layers[l].neurons, 2); };
  // Pairs a tile of each layer, if no tile may have more than `load`.
  const auto pairsATile = [&](unsigned l, double load) {
    const double cost = mapping == Mapping::Capacity ? pairCosts[l] : 1;
    return std::max(1u, static_cast<unsigned>(std::min(load / cost, 32768.0)));
  };
  const auto needed = [&](double load) {
    unsigned sum = 0;
    for (unsigned l = first; l < last; ++l)
      sum += ceilDivide(pairsOf(l), pairsATile(l, load));
    return sum;
  };
  double load = 0;
  if (mapping != Mapping::Linear) {
    double low = 0, high = 1;
    while (needed(high) > tiles && high < 1e12)
      high *= 2;
    if (needed(high) > tiles)
      throw poputil::poplibs_error("LIF op: " + std::to_string(last - first) + " layers on " +
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
  for (unsigned l = first; l < last; ++l) {
    const unsigned most =
        mapping == Mapping::Linear ? ceilDivide(pairsOf(l), tiles) : pairsATile(l, load);
    // As many tiles as that takes, and as even a share on each as whole pairs allow.
    const unsigned parts = ceilDivide(pairsOf(l), most);
    if (mapping == Mapping::Linear)
      next = 0;
    for (unsigned p = 0; p < parts; ++p) {
      const auto bound = [&](unsigned i) {
        const auto pair = static_cast<unsigned>(std::size_t{pairsOf(l)} * i / parts);
        return std::min(2 * pair, network.layers[l].neurons);
      };
      layers[l].push_back({workTile(ipu, next++), bound(p), bound(p + 1)});
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

std::string TilePlan::report() const {
  static const char *const names[] = {"capacity", "neurons", "linear"};
  const std::vector<double> found = loads();
  double sum = 0;
  for (const double load : found)
    sum += load;
  std::ostringstream out;
  out << "{\"mapping\": \"" << names[static_cast<unsigned>(mapping)] << "\", \"ipus\": " << ipus
      << ", \"tiles_per_ipu\": " << tilesPerIpu << ", \"layers\": [";
  for (unsigned l = 0; l < layers.size(); ++l) {
    unsigned most = 0;
    for (const TilePart &part : layers[l])
      most = std::max(most, part.neurons());
    out << (l ? ", " : "") << "{\"ipu\": " << ipuOfLayer[l]
        << ", \"first_tile\": " << layers[l].front().place.tile
        << ", \"tiles\": " << layers[l].size() << ", \"most_neurons\": " << most
        << ", \"chunks\": " << chunks[l].size() << "}";
  }
  out << "], \"tiles_used\": " << found.size() << ", \"load_balance\": "
      << sum / (static_cast<double>(found.size()) * *std::max_element(found.begin(), found.end()))
      << "}";
  return out.str();
}

} // namespace lif
