#include "estimated_compute.h"

#include <algorithm>

#include "codelets/vertex_estimate.h"
#include "compute/worker_schedule.h"

namespace poplar::emulator {

std::optional<std::map<unsigned, std::uint64_t>> estimatedTileCycles(const Compiled &compiled,
                                                                     unsigned computeSet) {
  const GraphState &graph = *compiled.graph;
  const auto rearranged = compiled.rearranged.find(computeSet);
  if (rearranged == compiled.rearranged.end())
    return std::nullopt;
  std::map<unsigned, WorkerSchedule> tiles;
  for (const std::size_t v : graph.computeSets[computeSet].vertices) {
    const VertexInstance &vertex = graph.vertices[v];
    const auto estimate = givenEstimate(graph, vertex);
    if (!estimate)
      return std::nullopt;
    const std::uint64_t cycles = estimate->cycles;
    WorkerSchedule &tile = tiles.try_emplace(vertex.tile, graph.machine).first->second;
    switch (vertex.type->table->kind) {
    case field::Kind::MultiVertex:
      tile.runOnAll([&](unsigned) { return cycles; });
      break;
    case field::Kind::SupervisorVertex:
      tile.supervise(cycles);
      break;
    default:
      tile.runOnOne(cycles);
    }
  }
  std::map<unsigned, std::uint64_t> sums(rearranged->second.begin(), rearranged->second.end());
  for (const auto &[tile, schedule] : tiles)
    sums[tile] += schedule.cycles();
  return sums;
}

std::optional<std::uint64_t> estimatedCycles(const Compiled &compiled, unsigned computeSet) {
  const auto tiles = estimatedTileCycles(compiled, computeSet);
  if (!tiles)
    return std::nullopt;
  std::uint64_t most = 0;
  for (const auto &tile : *tiles)
    most = std::max(most, tile.second);
  return most;
}

} // namespace poplar::emulator
