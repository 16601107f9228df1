#ifndef IPULSE_POPC_COUNTED_ASSEMBLY_H
#define IPULSE_POPC_COUNTED_ASSEMBLY_H

#include <map>
#include <string>

namespace popc {

/// The cost of one execution of a basic block, for a worker of a tile.
struct BlockCost {
  unsigned main = 0; // instructions of the main pipe: memory, integers, control
  unsigned aux = 0;  // instructions of the auxiliary pipe: floating point
  unsigned loads = 0, stores = 0, flops = 0;
  /// A bundle has one instruction of each pipe.
  unsigned bundles() const { return main > aux ? main : aux; }
};

struct CountedAssembly {
  std::string text;
  std::map<std::string, unsigned> instructions; // by function
};

/// The assembly of g++ -fsanitize-coverage=trace-pc with the call in each basic block replaced by
/// the addition of the block's cost to popc_counters. Those calls make it safe: the compiler
/// expects them to change the flags and every register that a call may change. x86-64 only.
CountedAssembly countBlocks(const std::string &assembly);

} // namespace popc

#endif
