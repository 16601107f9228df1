#include "ext_vectors.h"

#include <cctype>

namespace popc {
namespace {

const char *const kAttribute = "ext_vector_type";

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string trimmed(const std::string &text) {
  const std::size_t first = text.find_first_not_of(" \t\n"), last = text.find_last_not_of(" \t\n");
  return first == text.npos ? "" : text.substr(first, last - first + 1);
}

/// The start of the declaration that contains `at`, after lines that name a file.
std::size_t startOf(const std::string &text, std::size_t at) {
  std::size_t start = text.find_last_of(";{}", at);
  start = start == text.npos ? 0 : start + 1;
  for (;;) {
    start = text.find_first_not_of(" \t\n", start);
    if (text[start] != '#')
      return start;
    start = text.find('\n', start);
  }
}

/// The end of the brackets that open at `open`.
std::size_t endOf(const std::string &text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0)
      return i + 1;
  }
  return text.size();
}

} // namespace

bool hasExtVectors(const std::string &preprocessed) {
  return preprocessed.find(kAttribute) != preprocessed.npos;
}

std::string withExtVectors(std::string text) {
  for (std::size_t at = text.find(kAttribute); at != text.npos; at = text.find(kAttribute, at)) {
    const std::size_t attribute = text.rfind("__attribute__", at), open = text.find('(', at);
    if (attribute == text.npos || open == text.npos)
      break;
    const std::size_t end = endOf(text, text.find('(', attribute));
    const std::string count = text.substr(open, endOf(text, open) - open);
    const std::size_t start = startOf(text, attribute), stop = text.find(';', end);
    std::string before = text.substr(start, attribute - start), kept;
    // The text before the type: `typedef`, or `using NAME =`, of a template, too.
    const std::size_t equals = before.rfind('=');
    if (before.compare(0, 7, "typedef") == 0)
      kept = "typedef ";
    else if (before.find("using") != before.npos && equals != before.npos)
      kept = before.substr(0, equals + 1) + " ";
    before = trimmed(kept.empty() ? before : before.substr(kept.size() - 1));
    std::string after = text.substr(end, stop - end);
    // `typedef TYPE NAME attribute;`
    if (kept == "typedef " && trimmed(after).empty()) {
      std::size_t name = before.size();
      while (name > 0 && isWord(before[name - 1]))
        --name;
      after = " " + before.substr(name);
      before = trimmed(before.substr(0, name));
    }
    const std::string written = kept + "::popc_ext_vector<" + before + ", " + count + ">" + after;
    text.replace(start, stop - start, written);
    at = start + written.size();
  }
  return text;
}

} // namespace popc
