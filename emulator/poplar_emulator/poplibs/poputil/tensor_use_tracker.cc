#include <algorithm>
#include <map>
#include <set>

#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>
#include <poputil/exceptions.hpp>

namespace poputil {

using poplar::Graph;
using poplar::Interval;
using poplar::Tensor;

struct TensorUseTrackerState {
  /// Adjacent elements of one variable, used by one tile.
  struct Use {
    Interval elements;
    unsigned tile;
    Tensor tensor; // of just these elements, [n]
  };
  unsigned numTiles;
  std::map<unsigned, std::vector<Use>> byVariable;
};

TensorUseTracker::TensorUseTracker(unsigned numTiles)
    : state(std::make_unique<TensorUseTrackerState>()) {
  state->numTiles = numTiles;
}
TensorUseTracker::TensorUseTracker(const TensorUseTracker &other)
    : state(std::make_unique<TensorUseTrackerState>(*other.state)) {}
TensorUseTracker::TensorUseTracker(TensorUseTracker &&) noexcept = default;
TensorUseTracker &TensorUseTracker::operator=(const TensorUseTracker &other) {
  *state = *other.state;
  return *this;
}
TensorUseTracker &TensorUseTracker::operator=(TensorUseTracker &&) noexcept = default;
TensorUseTracker::~TensorUseTracker() = default;

void TensorUseTracker::add(const Graph &, unsigned tile, const Tensor &t) {
  if (tile >= state->numTiles)
    throw poplibs_error("TensorUseTracker: there is no tile " + std::to_string(tile) + " among " +
                        std::to_string(state->numTiles));
  const Tensor flat = t.flatten();
  std::size_t at = 0;
  for (const poplar::VariableInterval &region : flat.getVarRegions()) {
    const std::size_t n = region.interval.size();
    state->byVariable[region.var.id].push_back({region.interval, tile, flat.slice(at, at + n)});
    at += n;
  }
}

void TensorUseTracker::add(TensorUseTracker other) {
  for (auto &[variable, uses] : other.state->byVariable) {
    auto &ours = state->byVariable[variable];
    ours.insert(ours.end(), uses.begin(), uses.end());
  }
}

bool TensorUseTracker::empty() const { return state->byVariable.empty(); }

void TensorUseTracker::mapTensorsByUse(Graph &graph, unsigned grainSize,
                                       unsigned minElementsPerTile, bool extendPartialUsage,
                                       MappingMethod) {
  if (extendPartialUsage)
    throw poplibs_error("TensorUseTracker: extendPartialUsage is not emulated: map what no tile "
                        "uses by itself");
  for (const auto &[variable, uses] : state->byVariable) {
    std::set<std::size_t> bounds;
    for (const TensorUseTrackerState::Use &use : uses) {
      bounds.insert(use.elements.begin());
      bounds.insert(use.elements.end());
    }
    // Between two bounds, every element is used by the same tiles.
    struct Part {
      std::set<unsigned> tiles;
      Tensor tensor;
    };
    std::map<std::size_t, Part> parts; // by the first element
    for (const TensorUseTrackerState::Use &use : uses) {
      for (auto begin = bounds.find(use.elements.begin()); *begin != use.elements.end(); ++begin) {
        Part &part = parts[*begin];
        part.tiles.insert(use.tile);
        if (!part.tensor.valid())
          part.tensor = use.tensor.slice(*begin - use.elements.begin(),
                                         *std::next(begin) - use.elements.begin());
      }
    }
    std::map<std::set<unsigned>, std::vector<Tensor>> shared;
    for (auto &[begin, part] : parts)
      shared[part.tiles].push_back(part.tensor);
    for (const auto &[tiles, tensors] : shared) {
      const Tensor all = poplar::concat(tensors);
      const auto shares = splitRegions({Interval(0, all.numElements())}, grainSize,
                                       static_cast<unsigned>(tiles.size()), minElementsPerTile);
      auto tile = tiles.begin();
      for (const std::vector<Interval> &share : shares) {
        for (const Interval &part : share)
          graph.setTileMapping(all.slice(part), *tile);
        ++tile;
      }
    }
  }
}

} // namespace poputil
