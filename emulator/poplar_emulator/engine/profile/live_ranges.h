#ifndef IPULSE_EMULATOR_LIVE_RANGES_H
#define IPULSE_EMULATOR_LIVE_RANGES_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "program/program_access.h"

namespace poplar::emulator {

/// A set of small numbers. Copies share their blocks until one of them changes, so that the sets of
/// many steps, of which each differs little from the next, take little time and memory.
class BitSet {
public:
  explicit BitSet(std::size_t size = 0) : blocks((size + kBits - 1) / kBits) {}
  void set(std::size_t i) {
    if (!test(i))
      own(i / kBits)[i % kBits / 64] |= bit(i);
  }
  void reset(std::size_t i) {
    if (test(i))
      own(i / kBits)[i % kBits / 64] &= ~bit(i);
  }
  bool test(std::size_t i) const {
    const Block *block = blocks[i / kBits].get();
    return block && (*block)[i % kBits / 64] & bit(i);
  }
  /// Adds the other set and returns whether this set changed.
  bool add(const BitSet &other);
  /// Calls f(number, is in this set) for every number that is in one of the two sets only.
  template <typename F> void forEachChange(const BitSet &before, F &&f) const {
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b] == before.blocks[b])
        continue;
      for (std::size_t w = 0; w < kWords; ++w) {
        const std::uint64_t mine = blocks[b] ? (*blocks[b])[w] : 0;
        std::uint64_t changed = mine ^ (before.blocks[b] ? (*before.blocks[b])[w] : 0);
        for (std::size_t i = b * kBits + w * 64; changed; changed >>= 1, ++i)
          if (changed & 1)
            f(i, (mine & bit(i)) != 0);
      }
    }
  }

private:
  static constexpr std::size_t kWords = 32, kBits = 64 * kWords;
  using Block = std::array<std::uint64_t, kWords>;
  static std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << (i % 64); }
  Block &own(std::size_t block);
  std::vector<std::shared_ptr<Block>> blocks; // null: nothing in it
};

/// The live variables at each step of the programs, by a backward analysis of the programs as
/// written. A variable is live from the step that writes all of it (or consecutive steps that write
/// it part by part, without a read between them) to its last read. Functions are analysed once for
/// all their calls. Variables that a program reads before it writes them are always live, because
/// they must outlive the runs, as are constants, variables with initial values, those that the host
/// reads or writes by name, and those that no program uses.
class LiveRanges {
public:
  LiveRanges(const GraphState &graph, const std::vector<std::shared_ptr<ProgramNode>> &programs);
  ~LiveRanges();

  /// The nodes with an effect of their own, each once, in the order of the programs.
  const std::vector<const ProgramNode *> &steps() const { return order; }
  /// Returns the variables that are live at a step; an always-live variable is live at each.
  const BitSet &live(std::size_t step) const { return around[step]; }
  bool alwaysLive(unsigned variable) const { return always.test(variable); }

private:
  /// Consecutive steps and control flow; the first of several partial writers ends a live range.
  struct Row {
    std::vector<const ProgramNode *> nodes;
    std::vector<std::vector<unsigned>> obsolete;
  };
  void collect(const ProgramNode &node);
  void flatten(const ProgramNode &node, Row &row);
  void joinPartWrites(Row &row);
  const Row &rowOf(const ProgramNode &node);
  // Each function takes what is live after a node and returns what is live before it.
  BitSet before(const ProgramNode &node, BitSet after);
  BitSet beforeStep(const ProgramNode &node, BitSet after, const std::vector<unsigned> &obsolete);
  BitSet beforeRow(const ProgramNode &sequence, BitSet after);
  BitSet beforeWhile(const ProgramNode &node, const BitSet &after);
  BitSet beforeCall(const ProgramNode &node, const BitSet &after);

  struct CallState {
    BitSet after, before;
    bool known = false;
  };
  const GraphState &graph;
  std::vector<const ProgramNode *> order;
  std::map<const ProgramNode *, std::size_t> indexOf;
  std::map<const ProgramNode *, ProgramAccess> access;
  std::map<const ProgramNode *, std::unique_ptr<Row>> rows;
  std::map<unsigned, CallState> functions;
  std::vector<BitSet> around; // by step
  BitSet always;
};

} // namespace poplar::emulator

#endif
