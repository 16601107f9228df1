#ifndef IPULSE_EMULATOR_LIVE_RANGES_H
#define IPULSE_EMULATOR_LIVE_RANGES_H

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "program/program_access.h"

namespace poplar::emulator {

/// A set of small numbers.
class BitSet {
public:
  explicit BitSet(std::size_t size = 0) : words((size + 63) / 64) {}
  void set(std::size_t i) { words[i / 64] |= bit(i); }
  void reset(std::size_t i) { words[i / 64] &= ~bit(i); }
  bool test(std::size_t i) const { return words[i / 64] & bit(i); }
  /// Adds the other set; whether that changed anything.
  bool add(const BitSet &other);

private:
  static std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << (i % 64); }
  std::vector<std::uint64_t> words;
};

/// For each step of the programs, the variables whose contents somebody still needs around it.
///
/// A backward analysis over the programs as written. A variable's contents are needed from where
/// all of it is written, by one step or by several in a row that nothing reads between, to where it
/// is read last. Functions are analysed once for all their calls. What a program needs when it
/// begins must outlive the runs: it is always live, as are constants, variables with initial
/// values, those that the host reads or writes by name, and those that no program uses.
class LiveRanges {
public:
  LiveRanges(const GraphState &graph, const std::vector<std::shared_ptr<ProgramNode>> &programs);
  ~LiveRanges();

  /// Nodes that do something themselves, each once, in the order of the programs.
  const std::vector<const ProgramNode *> &steps() const { return order; }
  /// Whether a variable is live at a step; of one that is always live, always.
  bool live(std::size_t step, unsigned variable) const { return around[step].test(variable); }
  bool alwaysLive(unsigned variable) const { return always.test(variable); }

private:
  /// Steps and control flow in a row, with what the first of several part writers makes obsolete.
  struct Row {
    std::vector<const ProgramNode *> nodes;
    std::vector<std::vector<unsigned>> obsolete;
  };
  void collect(const ProgramNode &node);
  void flatten(const ProgramNode &node, Row &row);
  void joinPartWrites(Row &row);
  const Row &rowOf(const ProgramNode &node);
  // Each takes what is needed after a node and gives what is needed before it.
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
