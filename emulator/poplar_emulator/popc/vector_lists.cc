#include "vector_lists.h"

#include <map>
#include <regex>
#include <sstream>
#include <vector>

namespace popc {
namespace {

const char *const kRefused = "<brace-enclosed initializer list>";

/// Returns where each line begins.
std::vector<std::size_t> lineStarts(const std::string &text) {
  std::vector<std::size_t> starts{0};
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n')
      starts.push_back(i + 1);
  return starts;
}

/// Returns where the list begins that ends at `end`.
std::size_t opening(const std::string &text, std::size_t end) {
  std::size_t depth = 0;
  for (std::size_t i = end + 1; i-- > 0;) {
    depth += text[i] == '}';
    if (text[i] == '{' && --depth == 0)
      return i;
  }
  return text.npos;
}

/// Returns where the next list without a type begins: after `=`, `(`, `,` or `return`.
std::size_t untyped(const std::string &text, std::size_t from) {
  for (std::size_t i = from; i < text.size() && text[i] != ';'; ++i) {
    const std::size_t before = text[i] == '{' && i ? text.find_last_not_of(" \t\n", i - 1) : 0;
    if (text[i] != '{' || before == text.npos)
      continue;
    if (std::string("=(,").find(text[before]) != std::string::npos ||
        (before >= 5 && text.compare(before - 5, 6, "return") == 0))
      return i;
  }
  return text.npos;
}

} // namespace

std::string withoutLineMarkers(const std::string &text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (line.size() < 3 || line[0] != '#' || line[1] != ' ' || line[2] < '0' || line[2] > '9')
      kept += line + "\n";
  return kept;
}

bool refusesVectorList(const std::string &output) {
  return output.find(kRefused) != std::string::npos &&
         output.find("__vector(") != std::string::npos;
}

std::string withTypedLists(std::string text, const std::string &output) {
  static const std::regex place(":(\\d+):(\\d+): error: cannot convert "),
      vector("__vector\\((\\d+)\\) ([A-Za-z0-9_: ]+)");
  const std::vector<std::size_t> starts = lineStarts(text);
  std::map<std::size_t, std::string> types; // by where their lists begin
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::smatch at, type;
    if (line.find(kRefused) == line.npos || !std::regex_search(line, at, place) ||
        !std::regex_search(line, type, vector))
      continue;
    const std::size_t row = std::stoul(at.str(1)), column = std::stoul(at.str(2));
    if (row == 0 || row > starts.size() || column == 0)
      continue;
    const std::size_t offset = starts[row - 1] + column - 1;
    if (offset >= text.size())
      continue;
    const std::size_t begin = text[offset] == '}' ? opening(text, offset) : untyped(text, offset);
    if (begin != text.npos)
      types[begin] = "(" + type.str(2) + " __attribute__((vector_size(" + type.str(1) +
                     " * sizeof(" + type.str(2) + ")))))";
  }
  for (auto next = types.rbegin(); next != types.rend(); ++next)
    text.insert(next->first, next->second);
  return text;
}

} // namespace popc
