#include <poplar/Graph.hpp>

#include <numeric>
#include <ostream>
#include <set>

#include <poplar/Engine.hpp>
#include <poplar/Program.hpp>

#include "graph_state.h"
#include "program/program_node.h"

namespace poplar {

using emulator::GraphState;

namespace {

/// Returns the share of a target that one of `replicas` has.
Target targetOfReplica(const Target &target, unsigned replicas) {
  if (replicas == 1)
    return target;
  if (replicas == 0 || target.getNumIPUs() % replicas != 0)
    throw graph_replication_error(
        "a replication factor of " + std::to_string(replicas) + " for a target of " +
        std::to_string(target.getNumIPUs()) + (target.getNumIPUs() == 1 ? " IPU" : " IPUs") +
        ": every replica has as many IPUs, one at least; make a target of more IPUs, or replicate "
        "by a factor that divides them");
  return target.createVirtualTarget(target.getNumIPUs() / replicas, target.getTilesPerIPU());
}

} // namespace

Graph::Graph(const Target &whole, replication_factor r) : target(targetOfReplica(whole, r.value)) {
  state = std::make_shared<GraphState>(target.getMachine(), r.value);
  tiles.resize(target.getNumTiles());
  if (tiles.empty())
    throw invalid_machine_model("a graph needs a target of at least one tile");
  std::iota(tiles.begin(), tiles.end(), 0u);
}
Graph::Graph(const Device &device, replication_factor r) : Graph(device.getTarget(), r) {}
Graph::Graph(std::shared_ptr<GraphState> state, std::vector<unsigned> tiles, Target target)
    : state(std::move(state)), tiles(std::move(tiles)), target(std::move(target)) {}
Graph::Graph() = default;
Graph::Graph(Graph &&) noexcept = default;
Graph &Graph::operator=(Graph &&) noexcept = default;
Graph::~Graph() = default;

const std::shared_ptr<GraphState> &Graph::getState() const { return state.get(); }
const Target &Graph::getTarget() const {
  state.get(); // raises poplar_error for an empty graph
  return target;
}
unsigned Graph::getReplicationFactor() const { return state->replicas; }

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
  // Whole IPUs stay IPUs of the virtual target; any other selection of tiles becomes one IPU.
  const unsigned ipus = n % perIpu == 0 && lowerTile % perIpu == 0 ? n / perIpu : 1;
  return Graph(state.get(), {tiles.begin() + lowerTile, tiles.begin() + upperTile},
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
      state.get(), std::move(chosen),
      target.createVirtualTarget(target.getNumIPUs(), static_cast<unsigned>(perIpuTiles.size())));
}

Graph Graph::getTopLevelGraph() {
  std::vector<unsigned> all(state->machine.numTiles());
  std::iota(all.begin(), all.end(), 0u);
  return Graph(state.get(), std::move(all),
               Target(std::make_shared<emulator::Machine>(state->machine)));
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
  std::set<unsigned> used;
  for (std::size_t v = 0; v < state->vertices.size(); ++v) {
    const emulator::VertexInstance &vertex = state->vertices[v];
    out << "  v" << v << " [label=\"" << vertex.type->table->name << "\"];\n";
    for (unsigned f = 0; f < vertex.type->table->numFields; ++f) {
      const field::FieldTable &table = vertex.type->table->fields[f];
      for (const auto &row : vertex.fields[f].rows)
        for (const emulator::Run &run : row ? row->runs() : std::vector<emulator::Run>()) {
          used.insert(run.variable);
          const bool written = table.direction == field::Direction::Output;
          out << "  " << (written ? "v" : "t") << (written ? v : run.variable) << " -> "
              << (written ? "t" : "v") << (written ? run.variable : v) << " [label=\"" << table.name
              << "\"];\n";
        }
    }
  }
  for (const unsigned t : used)
    out << "  t" << t << " [shape=box,label=\"" << state->variables[t].name << "\"];\n";
  out << "}\n";
}

void Graph::outputComputeGraph(std::ostream &out, ArrayRef<program::Program> progs) const {
  std::vector<std::shared_ptr<emulator::ProgramNode>> open;
  for (const program::Program &p : progs)
    open.push_back(emulator::bodyOf(p));
  std::set<const emulator::ProgramNode *> seen;
  out << "digraph programs {\n";
  while (!open.empty()) {
    const auto node = open.back();
    open.pop_back();
    if (!seen.insert(node.get()).second)
      continue;
    const bool execute = node->kind == emulator::ProgramNode::Kind::Execute;
    out << "  p" << node.get() << " [label=\""
        << (execute ? state->computeSets.at(node->id).name : node->name) << "\"];\n";
    std::vector<std::shared_ptr<emulator::ProgramNode>> next = node->children;
    if (node->kind == emulator::ProgramNode::Kind::Call)
      next.push_back(state->functions.at(node->id));
    for (const auto &child : next)
      out << "  p" << node.get() << " -> p" << child.get() << ";\n";
    open.insert(open.end(), next.begin(), next.end());
  }
  out << "}\n";
}

void Graph::serialize(std::ostream &out, ArrayRef<program::Program> progs,
                      SerializationFormat format) const {
  if (format != SerializationFormat::Binary)
    throw poplar_error("a graph in JSON is not emulated: serialize it as SerializationFormat::"
                       "Binary");
  compileGraph(*this, progs).serialize(out);
}
void Graph::serialize(std::ostream &out, SerializationFormat format) const {
  serialize(out, {}, format);
}

} // namespace poplar
