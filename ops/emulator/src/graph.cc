#include <poplar/Graph.hpp>

#include <numeric>
#include <ostream>

#include <poplar/Program.hpp>

#include "graph_state.h"

namespace poplar {

using emulator::GraphState;

Graph::Graph(const Target &target, replication_factor r)
    : state(std::make_shared<GraphState>(target.getMachine())), tiles(target.getNumTiles()),
      target(target) {
  if (r.value != 1)
    throw graph_replication_error("replicated graphs are not emulated: use a replication factor "
                                  "of 1");
  if (tiles.empty())
    throw invalid_machine_model("a graph needs a target of at least one tile");
  std::iota(tiles.begin(), tiles.end(), 0u);
}
Graph::Graph(const Device &device, replication_factor r) : Graph(device.getTarget(), r) {}
Graph::Graph(std::shared_ptr<GraphState> state, std::vector<unsigned> tiles, Target target)
    : state(std::move(state)), tiles(std::move(tiles)), target(std::move(target)) {}
Graph::Graph(Graph &&) noexcept = default;
Graph &Graph::operator=(Graph &&) noexcept = default;
Graph::~Graph() = default;

const Target &Graph::getTarget() const { return target; }

unsigned Graph::physicalTile(unsigned t) const {
  if (t >= tiles.size())
    throw invalid_tile_mapping("tile " + std::to_string(t) + " is out of range: the graph has " +
                               std::to_string(tiles.size()) + " tiles");
  return tiles[t];
}

Graph Graph::createVirtualGraph(unsigned lowerTile, unsigned upperTile) {
  if (lowerTile >= upperTile || upperTile > tiles.size())
    throw invalid_tile_mapping("a virtual graph of tiles [" + std::to_string(lowerTile) + "," +
                               std::to_string(upperTile) + ") of a graph of " +
                               std::to_string(tiles.size()) + " tiles");
  const unsigned n = upperTile - lowerTile, perIpu = target.getTilesPerIPU();
  // Whole IPUs stay IPUs of the virtual target; any other choice of tiles is one IPU of them.
  const unsigned ipus = n % perIpu == 0 && lowerTile % perIpu == 0 ? n / perIpu : 1;
  return Graph(state, {tiles.begin() + lowerTile, tiles.begin() + upperTile},
               target.createVirtualTarget(ipus, n / ipus));
}

Graph Graph::createVirtualGraph(unsigned numTilesPerIPU) {
  std::vector<unsigned> perIpuTiles(numTilesPerIPU);
  std::iota(perIpuTiles.begin(), perIpuTiles.end(), 0u);
  return createVirtualGraph(perIpuTiles);
}

Graph Graph::createVirtualGraph(const std::vector<unsigned> &perIpuTiles) {
  std::vector<unsigned> chosen;
  for (unsigned ipu = 0; ipu < target.getNumIPUs(); ++ipu) {
    for (const unsigned tile : perIpuTiles) {
      if (tile >= target.getTilesPerIPU())
        throw invalid_tile_mapping("tile " + std::to_string(tile) +
                                   " is out of range: an IPU of "
                                   "the graph has " +
                                   std::to_string(target.getTilesPerIPU()));
      chosen.push_back(tiles[ipu * target.getTilesPerIPU() + tile]);
    }
  }
  return Graph(
      state, std::move(chosen),
      target.createVirtualTarget(target.getNumIPUs(), static_cast<unsigned>(perIpuTiles.size())));
}

Graph Graph::getTopLevelGraph() {
  std::vector<unsigned> all(state->machine.numTiles());
  std::iota(all.begin(), all.end(), 0u);
  return Graph(state, std::move(all), Target(std::make_shared<emulator::Machine>(state->machine)));
}

ComputeSet Graph::addComputeSet(const DebugContext &debugContext) {
  state->computeSets.push_back({debugContext.getPathName(), {}});
  return ComputeSet(static_cast<unsigned>(state->computeSets.size()) - 1);
}

void Graph::setPerfEstimate(const VertexRef &v, std::uint64_t cycles, std::uint64_t flops) {
  state->vertices.at(v.getId()).estimate = VertexPerfEstimate(cycles, flops);
}

VertexPerfEstimate Graph::getPerfEstimate(const VertexRef &v) const {
  const auto &estimate = state->vertices.at(v.getId()).estimate;
  if (!estimate)
    throw missing_perf_estimate("the vertex has no estimate; give it one with setPerfEstimate");
  return *estimate;
}

void Graph::registerPerfEstimator(StringRef vertexTypeName, PerfEstimateFunc f) {
  state->vertexTypes[vertexTypeName].estimator = std::move(f);
}

Function Graph::addFunction(const program::Program &program) {
  state->functions.push_back(program.getNode());
  return Function(static_cast<unsigned>(state->functions.size()) - 1);
}

void Graph::outputVertexGraph(std::ostream &out, ArrayRef<program::Program>) const {
  out << "digraph vertices {\n";
  for (std::size_t v = 0; v < state->vertices.size(); ++v)
    out << "  v" << v << " [label=\"" << state->vertices[v].type->table->name << "\"];\n";
  out << "}\n";
}

} // namespace poplar
