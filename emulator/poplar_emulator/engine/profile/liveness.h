#ifndef IPULSE_EMULATOR_LIVENESS_H
#define IPULSE_EMULATOR_LIVENESS_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_state.h"
#include "program/program_node.h"

namespace poplar::emulator {

/// Bytes that tiles need for the exchanges of each compute set: for each tile, how many.
using Messages = std::map<unsigned, std::vector<std::pair<unsigned, std::uint64_t>>>;

/// The live memory at a step, in addition to what is always live.
struct LiveStep {
  const ProgramNode *node = nullptr;
  std::uint64_t bytes = 0;     // of all tiles
  std::uint64_t tileBytes = 0; // of the tile with the most
  unsigned tile = 0;
  std::vector<std::pair<std::uint64_t, unsigned>> variables; // bytes and variable, largest first
};

/// The memory of a tile at its peak, in addition to what is always live.
struct TilePeak {
  std::uint64_t variable = 0, message = 0;
  std::uint64_t total() const { return variable + message; }
};

struct Liveness {
  std::vector<char> always;    // by variable: whether it is live at every step
  std::vector<LiveStep> steps; // in the order of the programs
  std::vector<TilePeak> peaks; // by tile
};

Liveness livenessOf(const GraphState &graph,
                    const std::vector<std::shared_ptr<ProgramNode>> &programs,
                    const Messages &messages);

} // namespace poplar::emulator

#endif
