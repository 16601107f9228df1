#include "call_graph.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "popc/starts_with.h"

namespace popc {
namespace {

const char *const kDeclared = "# popc_stack_usage ";

std::string demangled(const std::string &symbol) {
  int status = 0;
  char *text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  const std::string name = status == 0 ? text : symbol;
  std::free(text);
  return name;
}

/// Returns whether a tile's libraries lack the function: the heap, exceptions, threads, files, and
/// the compiled part of the C++ library.
bool isMissing(const std::string &symbol) {
  static const std::set<std::string> names{"malloc", "calloc", "realloc", "free",  "fopen",
                                           "fclose", "fread",  "fwrite",  "fgets", "system",
                                           "exit",   "getenv", "time",    "clock"};
  static const char *const prefixes[] = {"_Znw",        "_Zna",     "_Zdl",     "_Zda",
                                         "__cxa_throw", "pthread_", "_ZSt",     "_ZNSt",
                                         "_ZNSo",       "_ZNKSt",   "__cxa_al", "__dynamic_cast"};
  return names.count(symbol) ||
         std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](const char *prefix) { return startsWith(symbol, prefix); });
}

} // namespace

CallGraph::CallGraph(const std::string &assembly) {
  std::istringstream lines(assembly);
  Function *function = nullptr;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t declaration = line.find(kDeclared);
    if (declaration != std::string::npos) {
      declared.insert(line.substr(declaration + std::strlen(kDeclared)));
      continue;
    }
    if (line.empty() || line[0] == '#' || startsWith(line, ".L"))
      continue;
    if (line[0] != '\t' && line[0] != ' ') {
      function = &functions[line.substr(0, line.find(':'))];
      continue;
    }
    std::istringstream words(line);
    std::string name, operand;
    words >> name >> operand;
    if (name == "notrack")
      name = operand, words >> operand;
    if (name == ".set" && operand.find(',') != operand.npos) { // another name of a function
      functions[operand.substr(0, operand.find(','))].calls.insert(
          operand.substr(operand.find(',') + 1));
      continue;
    }
    const bool call = startsWith(name, "call");
    if (!function || operand.empty() || !(call || name == "jmp") || operand[0] == '.')
      continue;
    if (operand[0] != '*')
      function->calls.insert(operand.substr(0, operand.find('@')));
    else if (operand.find("@GOTPCREL") != std::string::npos)
      function->calls.insert(operand.substr(1, operand.find('@') - 1));
    else if (call || operand[1] != '%') // a jump to a register may be a switch
      function->callsPointer = true;
  }
}

bool CallGraph::isDeclared(const std::string &function) const {
  const std::string name = demangled(function);
  return std::any_of(declared.begin(), declared.end(), [&](const std::string &one) {
    return one == function || name == one || startsWith(name, one + "(");
  });
}

std::string CallGraph::cycle(const std::string &function, std::set<std::string> &done,
                             std::vector<std::string> &open) const {
  const auto found = functions.find(function);
  if (found == functions.end() || done.count(function) || isDeclared(function))
    return "";
  if (std::find(open.begin(), open.end(), function) != open.end())
    return function;
  open.push_back(function);
  for (const std::string &callee : found->second.calls) {
    const std::string in = cycle(callee, done, open);
    if (!in.empty())
      return in;
  }
  open.pop_back();
  done.insert(function);
  return "";
}

LinkProblems CallGraph::problemsOf(const std::string &root) const {
  LinkProblems problems;
  std::set<std::string> reached{root};
  std::vector<std::string> open{root};
  while (!open.empty()) {
    const auto found = functions.find(open.back());
    open.pop_back();
    if (found == functions.end())
      continue;
    if (found->second.callsPointer && problems.onDevice.empty() && !isDeclared(found->first))
      problems.onDevice = "the stack of '" + demangled(found->first) +
                          "' has no computable size, because it calls a function through a "
                          "pointer: declare it with DEF_STACK_USAGE(bytes, function)";
    for (const std::string &callee : found->second.calls) {
      if (functions.find(callee) == functions.end() && isMissing(callee) &&
          problems.everywhere.empty())
        problems.everywhere = "undefined symbol '" + demangled(callee) +
                              "' on tile 0: a tile has no heap, no exceptions, no streams, no "
                              "threads and no files";
      if (reached.insert(callee).second)
        open.push_back(callee);
    }
  }
  std::set<std::string> done;
  std::vector<std::string> path;
  const std::string recursive = cycle(root, done, path);
  if (!recursive.empty())
    problems.onDevice = "the stack of '" + demangled(recursive) +
                        "' has no computable size, because it is recursive: declare it with "
                        "DEF_STACK_USAGE(bytes, function)";
  return problems;
}

} // namespace popc
