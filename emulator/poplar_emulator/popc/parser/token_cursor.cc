#include "token_cursor.h"

#include "tokens.h"

namespace popc {

const std::string &TokenCursor::peek(std::size_t ahead) const {
  static const std::string none;
  return at + ahead < tokens.size() ? tokens[at + ahead] : none;
}

void TokenCursor::skipBalanced(const std::string &open, const std::string &close) {
  int depth = 0;
  while (!atEnd()) {
    const std::string &t = tokens[at++];
    if (t == open)
      ++depth;
    else if (t == close && --depth == 0)
      return;
    else if (open == "<" && t == "(") // a comparison inside parentheses is no bracket
      --at, skipBalanced("(", ")");
  }
}

void TokenCursor::skipDeclaration() {
  while (!atEnd()) {
    const std::string &t = peek();
    if (t == ";") {
      ++at;
      return;
    }
    if (t == "(") {
      skipBalanced("(", ")");
    } else if (t == "{") {
      skipBalanced("{", "}");
      // `= {...};` and `struct {...} name;` continue after the brace; a function ends with its
      // body.
      if (peek() != ";" && peek() != "," && !(isWord(peek()) && peek(1) == ";"))
        return;
    } else if (t == "}") {
      return; // of the scope around
    } else {
      ++at;
    }
  }
}

} // namespace popc
