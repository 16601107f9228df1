#include "worker_launches.h"

#include <sstream>
#include <vector>

#include "popc/starts_with.h"

namespace popc {
namespace {

const std::string kCodelet = "__runCodelet_";

/// Returns the words of an instruction; commas separate them, too.
std::vector<std::string> wordsOf(std::string line) {
  for (char &c : line)
    if (c == ',' || c == '\t')
      c = ' ';
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;)
    words.push_back(word);
  return words;
}

/// One block of inline assembly.
class InlineBlock {
public:
  explicit InlineBlock(const std::map<std::string, std::string> &functions)
      : functions(&functions) {}

  /// Returns what stands for a line, or the line itself.
  std::string replaced(const std::string &line) {
    const std::vector<std::string> words = wordsOf(line);
    if (words.size() == 3 && words[0] == "setzi" && startsWith(words[2], kCodelet)) {
      const auto found = functions->find(words[2].substr(kCodelet.size()));
      if (found == functions->end())
        return line;
      code[words[1]] = found->second;
      return "";
    }
    if (words.size() == 2 && words[0] == "sync")
      return "";
    return words.size() == 4 && words[0] == "runall" ? launch(line, words[1], words[2]) : line;
  }

private:
  /// $m0 has the address of the vertex, which popc_run_workers finds without it.
  std::string launch(const std::string &line, const std::string &entry,
                     const std::string &base) const {
    const auto known = code.find(entry);
    const bool isVertex = base == "$m0";
    if ((known == code.end() && entry[0] != '%') || (!isVertex && base[0] != '%'))
      return line;
    const std::string start = known == code.end() ? entry : known->second + "@GOTPCREL(%rip)";
    return "\tleaq -128(%rsp), %rsp\n\tpushq " + start + "\n\tpushq " + (isVertex ? "$0" : base) +
           "\n\tpushq $" + (known == code.end() ? "0" : "1") +
           "\n\tcall popc_run_workers@PLT\n\tleaq 152(%rsp), %rsp";
  }

  const std::map<std::string, std::string> *functions;
  std::map<std::string, std::string> code; // by register
};

} // namespace

std::string withWorkerLaunches(const std::string &assembly,
                               const std::map<std::string, std::string> &functions) {
  if (assembly.find("runall") == assembly.npos && assembly.find("sync") == assembly.npos)
    return assembly;
  std::istringstream in(assembly);
  std::string text;
  bool isInline = false;
  InlineBlock block(functions);
  for (std::string line; std::getline(in, line);) {
    if (startsWith(line, "#APP")) {
      isInline = true;
      block = InlineBlock(functions);
    } else if (startsWith(line, "#NO_APP")) {
      isInline = false;
    }
    text += (isInline ? block.replaced(line) : line) + "\n";
  }
  return text;
}

} // namespace popc
