#ifndef IPULSE_EMULATOR_COMPILED_H
#define IPULSE_EMULATOR_COMPILED_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <poplar/OptionFlags.hpp>

#include "graph/graph_state.h"
#include "profile/liveness.h"
#include "program/program_node.h"

namespace poplar::emulator {

/// The bytes of one tile at its peak, by category; the names are libpva's.
struct TileMemory {
  std::uint64_t variable = 0, constant = 0, message = 0, stack = 0, vertexInstanceState = 0,
                vertexFieldData = 0, vertexCode = 0, internalExchangeCode = 0,
                globalExchangeCode = 0, hostExchangeCode = 0, controlCode = 0;
  std::uint64_t notAlwaysLive = 0; // of variable and message
  std::uint64_t total() const {
    return variable + constant + message + stack + vertexInstanceState + vertexFieldData +
           vertexCode + internalExchangeCode + globalExchangeCode + hostExchangeCode + controlCode;
  }
};

/// The cost of an exchange, known before it runs.
struct ExchangeCost {
  std::uint64_t bytesIn = 0, bytesOut = 0; // of the tile with the most
  std::uint64_t bytesBetweenIpus = 0;
  std::uint64_t bytesTotal = 0;
  std::uint64_t cycles = 0; // 0 when nothing moves between tiles
};

/// A graph and its programs, checked.
struct Compiled {
  static constexpr const char *kPublicClass = "Executable";

  std::shared_ptr<GraphState> graph;
  std::vector<std::shared_ptr<ProgramNode>> programs;
  OptionFlags options;
  std::vector<const ProgramNode *> nodes;      // reachable ones, in the programs' order
  std::map<const ProgramNode *, unsigned> ids; // their indices in it
  std::vector<TileMemory> memory;              // by tile
  Liveness liveness;
  std::map<unsigned, ExchangeCost> computeSetIn;  // by compute set: before compute
  std::map<unsigned, ExchangeCost> computeSetOut; // by compute set: after compute
  // For each compute set, the tiles that rearrange elements for their fields, and their cycles.
  std::map<unsigned, std::vector<std::pair<unsigned, std::uint64_t>>> rearranged;
  std::map<const ProgramNode *, ExchangeCost> copies;      // and those of deciding values
  std::map<const ProgramNode *, std::uint64_t> copyCycles; // on the tile that copies most to itself
};

/// Checks the programs and computes everything that is known before a run. Raises the error class
/// of the fault. progress: called with the number of finished steps and of all steps, unless empty.
std::shared_ptr<Compiled> compile(std::shared_ptr<GraphState> graph,
                                  std::vector<std::shared_ptr<ProgramNode>> programs,
                                  OptionFlags options,
                                  const std::function<void(int step, int total)> &progress = {});

} // namespace poplar::emulator

#endif
