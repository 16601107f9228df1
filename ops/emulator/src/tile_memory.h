#ifndef IPULSE_EMULATOR_TILE_MEMORY_H
#define IPULSE_EMULATOR_TILE_MEMORY_H

#include <map>
#include <set>
#include <vector>

#include "compiled.h"

namespace poplar::emulator {

class Traffic;

/// Adds up what lies on each tile. Every variable counts as always live: that no two variables
/// share memory makes this an upper bound of what a liveness analysis would find.
class MemoryModel {
public:
  explicit MemoryModel(const GraphState &graph);
  void addVertex(const VertexInstance &vertex);
  void addExchange(const Traffic &traffic);
  void addStep(const ProgramNode &node);
  const std::vector<TileMemory> &tiles() const { return memory; }
  /// Raises graph_memory_allocation_error naming the worst tile and its largest variables.
  void checkFits() const;

private:
  const GraphState &graph;
  std::vector<TileMemory> memory;
  std::set<std::pair<unsigned, const field::VertexTable *>> codeOnTile;
};

/// Bytes of a vertex's state on the device, which holds 4-byte addresses.
std::uint64_t stateBytes(const VertexInstance &vertex);

} // namespace poplar::emulator

#endif
