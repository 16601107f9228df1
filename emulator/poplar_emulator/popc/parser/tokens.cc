#include "tokens.h"

#include <cctype>

namespace popc {
namespace {

bool wordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::size_t endOfQuoted(const std::string &s, std::size_t i) {
  const char quote = s[i++];
  while (i < s.size() && s[i] != quote)
    i += s[i] == '\\' ? 2 : 1;
  return i + 1;
}

std::size_t endOfRawString(const std::string &s, std::size_t quote) {
  const std::size_t open = s.find('(', quote);
  const std::string close = ")" + s.substr(quote + 1, open - quote - 1) + "\"";
  const std::size_t end = s.find(close, open);
  return end == std::string::npos ? s.size() : end + close.size();
}

} // namespace

bool isWord(const std::string &token) {
  return !token.empty() && wordCharacter(token[0]) &&
         !std::isdigit(static_cast<unsigned char>(token[0]));
}

std::vector<std::string> tokenize(const std::string &s) {
  std::vector<std::string> tokens;
  bool lineStart = true;
  for (std::size_t i = 0; i < s.size();) {
    const char c = s[i];
    if (c == '\n') {
      lineStart = true;
      ++i;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (c == '#' && lineStart) {
      while (i < s.size() && s[i] != '\n')
        ++i;
    } else if (wordCharacter(c)) {
      std::size_t end = i;
      while (end < s.size() && (wordCharacter(s[end]) ||
                                (std::isdigit(static_cast<unsigned char>(c)) && s[end] == '.')))
        ++end;
      const std::string word = s.substr(i, end - i);
      if (end < s.size() && s[end] == '"' && word.back() == 'R') {
        i = endOfRawString(s, end);
        tokens.push_back("\"\"");
      } else {
        tokens.push_back(word);
        i = end;
      }
      lineStart = false;
    } else if (c == '"' || c == '\'') {
      const std::size_t end = endOfQuoted(s, i);
      tokens.push_back(s.substr(i, end - i));
      i = end;
      lineStart = false;
    } else if (s.compare(i, 2, "[[") == 0) {
      for (i += 2; i < s.size() && s.compare(i, 2, "]]") != 0;)
        i = s[i] == '"' ? endOfQuoted(s, i) : i + 1;
      i += 2;
      lineStart = false;
    } else {
      const std::size_t length = s.compare(i, 2, "::") == 0 ? 2 : 1;
      tokens.push_back(s.substr(i, length));
      i += length;
      lineStart = false;
    }
  }
  return tokens;
}

} // namespace popc
