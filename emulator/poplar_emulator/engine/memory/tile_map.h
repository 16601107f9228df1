#ifndef IPULSE_EMULATOR_TILE_MAP_H
#define IPULSE_EMULATOR_TILE_MAP_H

#include <cstddef>
#include <iterator>
#include <map>

#include "device/machine.h"

namespace poplar::emulator {

/// The tile of every element of a variable; kNoTile where it has none.
class TileMap {
public:
  TileMap() { starts[0] = kNoTile; }

  void assign(std::size_t begin, std::size_t end, unsigned tile) {
    if (begin == end)
      return;
    const auto after = starts.upper_bound(end);
    const unsigned follows = std::prev(after)->second;
    starts.erase(starts.lower_bound(begin), after);
    const bool joins = begin != 0 && std::prev(starts.upper_bound(begin))->second == tile;
    if (!joins)
      starts[begin] = tile;
    if (follows != tile)
      starts[end] = follows;
  }

  /// Calls f(begin, end, tile) for the parts of [begin, end), in order.
  template <typename F> void forEach(std::size_t begin, std::size_t end, F &&f) const {
    auto it = std::prev(starts.upper_bound(begin));
    while (begin < end) {
      const auto next = std::next(it);
      const std::size_t stop = next == starts.end() || next->first > end ? end : next->first;
      f(begin, stop, it->second);
      begin = stop;
      it = next;
    }
  }

private:
  std::map<std::size_t, unsigned> starts;
};

} // namespace poplar::emulator

#endif
