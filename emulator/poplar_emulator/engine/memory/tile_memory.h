#ifndef IPULSE_EMULATOR_TILE_MEMORY_H
#define IPULSE_EMULATOR_TILE_MEMORY_H

#include <map>
#include <set>
#include <vector>

#include "executable/compiled.h"

namespace poplar::emulator {

class Traffic;

/// Adds up the memory of each tile. Variables that are never live at the same step share memory;
/// gaps between variables are not modelled.
class MemoryModel {
public:
  explicit MemoryModel(const GraphState &graph);
  void addVertex(const VertexInstance &vertex);
  void addExchange(const Traffic &traffic);
  /// Bytes by tile, in several lists, of the buffers for a compute set's vertices: for elements of
  /// other tiles, and for rearranged elements.
  void addBuffers(unsigned computeSet,
                  const std::vector<const std::vector<std::uint64_t> *> &byTile);
  void addStep(const ProgramNode &node);
  const Messages &messages() const { return held; }
  void addVariables(const Liveness &liveness);
  const std::vector<TileMemory> &tiles() const { return memory; }

private:
  void addHostCopy(const Tensor &t);

  const GraphState &graph;
  std::vector<TileMemory> memory;
  std::set<std::pair<unsigned, const field::VertexTable *>> codeOnTile;
  std::set<std::pair<unsigned, const void *>> dataOnTile;
  std::vector<std::uint64_t> workerStacks, supervisorStacks; // [tiles], bytes of one
  Messages held;
};

/// Returns the largest variables on a tile with their bytes, at most `count`, largest first.
std::vector<std::pair<std::uint64_t, unsigned>> largestVariables(const GraphState &graph,
                                                                 unsigned tile, std::size_t count);
/// Raises graph_memory_allocation_error naming the worst tile and its largest variables.
void checkFits(const Compiled &compiled);

} // namespace poplar::emulator

#endif
