#ifndef IPULSE_EMULATOR_COMPUTE_SET_RUN_H
#define IPULSE_EMULATOR_COMPUTE_SET_RUN_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "access_check.h"
#include "executable/compiled.h"
#include "memory/memory_image.h"
#include "row_guards.h"
#include "worker_threads.h"

namespace poplar::emulator {

/// The compute cost of one execution of a compute set.
struct ComputeCost {
  std::uint64_t cycles = 0;      // of the slowest tile
  std::uint64_t totalCycles = 0; // of all tiles
  std::uint64_t activeTiles = 0;
  std::uint64_t flops = 0;
  bool result = true; // all compute() returned true
};

/// A compute set bound to a replica's memory: states of its vertices filled, pointers set.
class ComputeSetRun {
public:
  /// compiled must outlive it. firstTile: the first tile of the replica in the machine of all
  /// replicas.
  /// poisonOutputs: fill every Output before compute(), not only those of other tiles' memory, so
  /// that what compute() does not write is seen.
  /// checkBounds: give every field memory of its own and raise application_runtime_error if a
  /// vertex writes outside of it.
  ComputeSetRun(const Compiled &compiled, unsigned computeSet, MemoryImage &memory,
                unsigned firstTile, bool poisonOutputs, bool checkBounds);
  /// Raises application_runtime_error for a vertex that does not end (VertexWatch) or that writes
  /// outside of its fields.
  ComputeCost run(WorkerThreads &threads);
  /// Cycles of each tile in the last run; only tiles with vertices.
  struct TileCycles {
    unsigned tile;
    std::uint64_t cycles;
  };
  const std::vector<TileCycles> &tileCycles() const { return cycles; }
  /// The cycles of vertices by the scope of the first variable that they write: its name up to the
  /// last '/', as in "layer1" of "layer1/membranes". Over all tiles, workers and runs so far; those
  /// of a supervisor count once for each worker.
  std::map<std::string, std::uint64_t> cyclesByScope() const;
  void resetScopes() { std::fill(scopeCycles.begin(), scopeCycles.end(), 0); }

private:
  /// A row of a field that is not contiguous, or that aliases another field of its vertex.
  struct Staged {
    const View *view;
    char *buffer;
    bool in, out;
  };
  struct Poisoned {
    Type type;
    void *first;
    std::size_t count;
  };
  struct BoundVertex {
    const field::VertexTable *table;
    char *state;
    std::uint64_t estimate; // tile cycles; kCounted: count them
    std::uint64_t estimatedFlops;
    std::uint64_t overheadBundles; // to start compute(), for each worker
    std::uint32_t firstStaged, endStaged, firstPoisoned, endPoisoned, firstGuarded, endGuarded;
    std::uint32_t scope; // its place in scopes
    std::size_t firstRange, endRange;
  };
  struct BoundTile {
    unsigned tile;
    std::size_t first, end;       // of vertices
    std::uint64_t rearranged = 0; // cycles that make fields contiguous
  };
  static constexpr std::uint64_t kCounted = ~std::uint64_t{0};

  void bind(const VertexInstance &vertex);
  void bindField(const VertexInstance &vertex, unsigned f, char *at);
  void bindValues(const field::FieldTable &table, const std::vector<std::vector<char>> &values,
                  char *at);
  /// aliased: whether another field of the vertex is connected to part of the row, too.
  /// tile: of the vertex.
  field::Span bindRow(const field::FieldTable &table, const View &view, bool aliased,
                      unsigned tile);
  void runTile(std::size_t index);
  void runVertices(std::size_t index);
  std::string describe(std::size_t vertex, unsigned tile) const;
  std::uint32_t placeOfScope(const VertexInstance &vertex);
  /// own: whether a vertex may access all of it.
  char *allocate(std::size_t bytes, std::size_t align, bool own = true);

  const GraphState &graph;
  MemoryImage &memory;
  const unsigned firstTile;
  const bool poisonOutputs, checkBounds;
  const std::string name; // of the compute set
  std::vector<std::unique_ptr<char[]>> arenas;
  std::size_t arenaUsed = 0, arenaSize = 0;
  std::vector<std::shared_ptr<const View>> joined; // rows made of several connections
  std::vector<BoundVertex> vertices;
  std::vector<BoundTile> tiles;
  std::vector<Staged> staged;
  std::vector<Poisoned> poisoned;
  RowGuards guards;
  const bool checksAccess; // $IPULSE_EMULATOR_SANITIZE
  AccessRanges ranges;
  std::vector<std::string> scopes;
  std::map<std::string, std::uint32_t> scopePlaces;
  std::uint64_t rounds = 0; // executions so far
  // Written by the thread that runs the tile, read when all are done.
  std::vector<TileCycles> cycles;
  std::vector<std::uint64_t> flops;
  std::vector<std::uint64_t> scopeCycles; // [tiles, scopes]
  std::vector<char> results;
  std::vector<std::size_t> running; // [tiles], a vertex
  std::vector<std::string> faults;  // [tiles], a description or ""
};

} // namespace poplar::emulator

#endif
