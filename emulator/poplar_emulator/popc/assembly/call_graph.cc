#include "call_graph.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "popc/starts_with.h"

namespace popc {
namespace {

const char *const kDeclared = "# popc_stack_";

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
  std::string label;
  std::uint64_t depth = 0;
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t at = line.find(kDeclared); at != std::string::npos) {
      std::istringstream words(line.substr(at + std::strlen(kDeclared)));
      Declared one;
      std::string kind;
      words >> kind >> one.bytes >> std::ws;
      std::getline(words, one.function);
      one.ofItself = kind == "own";
      declared.push_back(one);
      continue;
    }
    if (line.empty() || line[0] == '#' || startsWith(line, ".L"))
      continue;
    if (line[0] != '\t' && line[0] != ' ') {
      label = line.substr(0, line.find(':'));
      function = &functions[label];
      depth = 0;
      continue;
    }
    std::istringstream words(line);
    std::string name, operand, more;
    words >> name >> operand >> more;
    const std::string first = operand.substr(0, operand.find(','));
    if (name == ".size" || name == ".comm") { // of functions, too
      const std::string bytes =
          name == ".size" ? more : operand.substr(std::min(operand.size(), first.size() + 1));
      if (!bytes.empty() && bytes[0] >= '0' && bytes[0] <= '9')
        objects[first] = std::strtoull(bytes.c_str(), nullptr, 10);
    } else if (name == ".set" && operand.find(',') != operand.npos) { // another name of a function
      functions[first].calls.insert(operand.substr(operand.find(',') + 1));
    } else if (function && (name == ".quad" || name == ".long")) {
      values.emplace(label, std::strtoull(operand.c_str(), nullptr, 10));
      function->names.insert(operand.substr(0, operand.find('+')));
    } else if (function && name[0] != '.') {
      readInstruction(*function, depth, line);
    }
  }
}

void CallGraph::readInstruction(Function &function, std::uint64_t &depth, const std::string &line) {
  std::istringstream words(line);
  std::string name, operand, more;
  words >> name >> operand;
  if (name == "notrack")
    name = operand, words >> operand;
  words >> more;
  // Code after the end of a path continues another one, at an unknown depth.
  if (name == "ret" || name == "jmp")
    depth = function.frame;
  else if (startsWith(name, "push"))
    depth += 8;
  else if (startsWith(name, "pop"))
    depth -= std::min<std::uint64_t>(depth, 8);
  else if (startsWith(name, "sub") && operand[0] == '$' && more == "%rsp")
    depth += std::strtoull(operand.c_str() + 1, nullptr, 10);
  else if (startsWith(name, "add") && operand[0] == '$' && more == "%rsp") {
    const long long bytes = std::strtoll(operand.c_str() + 1, nullptr, 10);
    depth = bytes < 0 ? depth + static_cast<std::uint64_t>(-bytes)
                      : depth - std::min(depth, static_cast<std::uint64_t>(bytes));
  }
  function.frame = std::max(function.frame, depth);

  // Words of operands that may name data: `$table`, `table+4(%rip)`, `table@GOTPCREL(%rip)`.
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" \t,()+-*$@%", at), line.size());
    if (end > at && line[at] != '.' && (line[at] < '0' || line[at] > '9'))
      function.names.insert(line.substr(at, end - at));
    at = end + 1;
  }

  const bool call = startsWith(name, "call");
  if (operand.empty() || !(call || name == "jmp") || operand[0] == '.')
    return;
  if (operand[0] != '*')
    function.calls.insert(operand.substr(0, operand.find('@')));
  else if (operand.find("@GOTPCREL") != std::string::npos)
    function.calls.insert(operand.substr(1, operand.find('@') - 1));
  else if (call || operand[1] != '%') // a jump to a register may be a switch
    function.callsPointer = true;
}

const CallGraph::Declared *CallGraph::declarationOf(const std::string &function) const {
  const std::string name = demangled(function);
  for (const Declared &one : declared)
    if (one.function == function || name == one.function || startsWith(name, one.function + "("))
      return &one;
  return nullptr;
}

std::uint64_t CallGraph::stackOf(const std::string &function) const {
  std::set<std::string> open;
  return stackOf(function, open);
}

std::uint64_t CallGraph::stackOf(const std::string &function, std::set<std::string> &open) const {
  const auto found = functions.find(function);
  if (found == functions.end() || !open.insert(function).second)
    return 0;
  const Declared *declaration = declarationOf(function);
  const auto bytes = declaration ? values.find(declaration->bytes) : values.end();
  std::uint64_t most = 0;
  for (const std::string &callee : found->second.calls)
    most = std::max(most, stackOf(callee, open));
  open.erase(function);
  if (bytes == values.end())
    return found->second.frame + most;
  return declaration->ofItself ? bytes->second + most : bytes->second;
}

std::map<std::string, std::uint64_t> CallGraph::dataOf(const std::string &root) const {
  std::map<std::string, std::uint64_t> data;
  std::set<std::string> reached{root};
  std::vector<std::string> open{root};
  const auto reach = [&](const std::string &name) {
    if ((functions.count(name) || objects.count(name)) && reached.insert(name).second)
      open.push_back(name);
  };
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    if (const auto object = objects.find(name); object != objects.end())
      data.insert(*object);
    if (const auto found = functions.find(name); found != functions.end()) {
      std::for_each(found->second.calls.begin(), found->second.calls.end(), reach);
      std::for_each(found->second.names.begin(), found->second.names.end(), reach);
    }
  }
  return data;
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
