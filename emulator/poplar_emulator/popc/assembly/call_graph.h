#ifndef IPULSE_POPC_CALL_GRAPH_H
#define IPULSE_POPC_CALL_GRAPH_H

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace popc {

/// Errors of a tile's linker in a function and its callees; empty strings for none.
struct LinkProblems {
  std::string everywhere; // a symbol that no tile has: of the heap, of streams
  std::string onDevice;   // a stack without a computable size
};

/// The calls between the functions of a unit, their stacks and the data that they name, read from
/// its assembly. Stacks are those of the machine that compiles: a tile's may be smaller, because
/// its pointers are.
class CallGraph {
public:
  explicit CallGraph(const std::string &assembly);
  LinkProblems problemsOf(const std::string &function) const;
  /// Returns the bytes of the stack of a function and of its callees of this unit.
  std::uint64_t stackOf(const std::string &function) const;
  /// Returns the static data that a function, its callees and that data name, with their bytes.
  std::map<std::string, std::uint64_t> dataOf(const std::string &function) const;

private:
  struct Function { // or data
    std::set<std::string> calls, names;
    bool callsPointer = false;
    std::uint64_t frame = 0; // bytes of its own stack
  };
  struct Declared {
    std::string function, bytes; // `bytes` names a constant
    bool ofItself;
  };
  void readInstruction(Function &function, std::uint64_t &depth, const std::string &line);
  /// Returns the declaration of a function, or null.
  const Declared *declarationOf(const std::string &function) const;
  bool isDeclared(const std::string &function) const { return declarationOf(function); }
  std::uint64_t stackOf(const std::string &function, std::set<std::string> &open) const;
  /// Returns the name of a function of a cycle that is reached from `function`, or "".
  std::string cycle(const std::string &function, std::set<std::string> &done,
                    std::vector<std::string> &open) const;

  std::map<std::string, Function> functions;
  std::map<std::string, std::uint64_t> objects; // bytes of data
  std::map<std::string, std::uint64_t> values;  // the first number of data
  std::vector<Declared> declared;               // by DEF_STACK_USAGE and DEF_STACK_SIZE_OWN
};

} // namespace popc

#endif
