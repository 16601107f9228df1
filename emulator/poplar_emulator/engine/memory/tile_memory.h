#ifndef IPULSE_EMULATOR_TILE_MEMORY_H
#define IPULSE_EMULATOR_TILE_MEMORY_H

#include <map>
#include <set>
#include <vector>

#include "executable/compiled.h"

namespace poplar::emulator {

class Traffic;

/// Adds up what lies on each tile. Variables that are never alive at the same step share memory;
/// what a layout loses to gaps is not modelled.
class MemoryModel {
public:
  explicit MemoryModel(const GraphState &graph);
  void addVertex(const VertexInstance &vertex);
  void addExchange(const Traffic &traffic);
  /// Bytes by tile, in several lists, of the buffers that a compute set's vertices point into: for
  /// elements of other tiles, and for those that the tile brings together.
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
  Messages held;
};

/// Bytes and numbers of the variables with most bytes on a tile, at most `count`, largest first.
std::vector<std::pair<std::uint64_t, unsigned>> largestVariables(const GraphState &graph,
                                                                 unsigned tile, std::size_t count);
/// Raises graph_memory_allocation_error naming the worst tile and its largest variables.
void checkFits(const Compiled &compiled);

} // namespace poplar::emulator

#endif
