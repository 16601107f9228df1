#include "liveness.h"

#include <functional>
#include <set>

#include "live_ranges.h"

namespace poplar::emulator {
namespace {

constexpr std::size_t kVariablesNamed = 8; // of a step

using TileBytes = std::vector<std::pair<unsigned, std::uint64_t>>;

TileBytes tileBytesOf(const Variable &variable) {
  std::map<unsigned, std::uint64_t> bytes;
  const std::size_t size = sizeOf(variable.type);
  variable.tiles.forEach(0, variable.elements, [&](std::size_t b, std::size_t e, unsigned tile) {
    if (tile != kNoTile)
      bytes[tile] += (e - b) * size;
  });
  return {bytes.begin(), bytes.end()};
}

/// Follows the bytes of every tile from step to step.
class Walk {
public:
  Walk(const GraphState &graph, const LiveRanges &ranges, const Messages &messages)
      : graph(graph), ranges(ranges), messages(messages), now(graph.machine.numTiles()),
        before(graph.variables.size()), coming(graph.variables.size()),
        peaks(graph.machine.numTiles()) {
    for (unsigned v = 0; v < graph.variables.size(); ++v)
      if (!ranges.alwaysLive(v))
        coming[v] = tileBytesOf(graph.variables[v]);
  }

  LiveStep step(std::size_t index) {
    LiveStep result;
    result.node = ranges.steps()[index];
    ranges.live(index).forEachChange(before, [&](std::size_t v, bool isLive) {
      const auto variable = static_cast<unsigned>(v);
      if (ranges.alwaysLive(variable))
        return;
      for (const auto &[tile, bytes] : coming[v])
        now[tile].variable += isLive ? bytes : -bytes; // wraps around, and back
      const std::pair<std::uint64_t, unsigned> entry(graph.variables[v].bytes(), variable);
      if (isLive)
        live.insert(entry);
      else
        live.erase(entry);
    });
    before = ranges.live(index);
    const auto message = result.node->kind == ProgramNode::Kind::Execute
                             ? messages.find(result.node->id)
                             : messages.end();
    const auto exchange = [&](auto &&change) {
      if (message != messages.end())
        for (const auto &[tile, bytes] : message->second)
          change(now[tile].message, bytes);
    };
    exchange([](std::uint64_t &held, std::uint64_t bytes) { held += bytes; });
    measure(result);
    exchange([](std::uint64_t &held, std::uint64_t bytes) { held -= bytes; });
    return result;
  }

  std::vector<TilePeak> takePeaks() { return std::move(peaks); }

private:
  void measure(LiveStep &step) {
    for (unsigned tile = 0; tile < now.size(); ++tile) {
      const std::uint64_t bytes = now[tile].total();
      step.bytes += bytes;
      if (bytes > step.tileBytes)
        step.tileBytes = bytes, step.tile = tile;
      if (bytes > peaks[tile].total())
        peaks[tile] = now[tile];
    }
    for (const auto &entry : live) {
      if (step.variables.size() == kVariablesNamed)
        break;
      step.variables.push_back(entry);
    }
  }

  const GraphState &graph;
  const LiveRanges &ranges;
  const Messages &messages;
  std::vector<TilePeak> now;
  BitSet before;                 // live at the step before
  std::vector<TileBytes> coming; // by variable, of those that come and go
  std::set<std::pair<std::uint64_t, unsigned>, std::greater<>> live; // of those, by bytes
  std::vector<TilePeak> peaks;
};

} // namespace

Liveness livenessOf(const GraphState &graph,
                    const std::vector<std::shared_ptr<ProgramNode>> &programs,
                    const Messages &messages) {
  const LiveRanges ranges(graph, programs);
  Liveness result;
  for (unsigned v = 0; v < graph.variables.size(); ++v)
    result.always.push_back(ranges.alwaysLive(v));
  Walk walk(graph, ranges, messages);
  for (std::size_t i = 0; i < ranges.steps().size(); ++i)
    result.steps.push_back(walk.step(i));
  result.peaks = walk.takePeaks();
  return result;
}

} // namespace poplar::emulator
