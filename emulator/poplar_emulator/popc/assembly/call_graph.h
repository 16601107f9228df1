#ifndef IPULSE_POPC_CALL_GRAPH_H
#define IPULSE_POPC_CALL_GRAPH_H

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

/// The calls between the functions of a unit, read from its assembly.
class CallGraph {
public:
  explicit CallGraph(const std::string &assembly);
  LinkProblems problemsOf(const std::string &function) const;

private:
  struct Function {
    std::set<std::string> calls;
    bool callsPointer = false;
  };
  bool isDeclared(const std::string &function) const;
  /// Returns the name of a function of a cycle that is reached from `function`, or "".
  std::string cycle(const std::string &function, std::set<std::string> &done,
                    std::vector<std::string> &open) const;

  std::map<std::string, Function> functions;
  std::set<std::string> declared; // by DEF_STACK_USAGE
};

} // namespace popc

#endif
