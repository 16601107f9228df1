#ifndef IPULSE_POPC_TOKEN_CURSOR_H
#define IPULSE_POPC_TOKEN_CURSOR_H

#include <string>
#include <vector>

namespace popc {

/// A place in a list of tokens, and ways to go on from there.
class TokenCursor {
public:
  explicit TokenCursor(std::vector<std::string> tokens) : tokens(std::move(tokens)) {}

  bool atEnd() const { return at >= tokens.size(); }
  /// The token so many ahead; "" beyond the last.
  const std::string &peek(std::size_t ahead = 0) const;
  /// The token behind.
  const std::string &previous() const { return tokens[at - 1]; }
  void advance(std::size_t count = 1) { at += count; }
  /// Whether this token comes next; then it is passed.
  bool accept(const char *token) { return peek() == token && (++at, true); }
  std::size_t place() const { return at; }
  void returnTo(std::size_t place) { at = place; }

  /// From an opening bracket to behind its partner. `<` closes only at `>`.
  void skipBalanced(const std::string &open, const std::string &close);
  /// To behind the `;` or the block that ends a declaration.
  void skipDeclaration();

private:
  std::vector<std::string> tokens;
  std::size_t at = 0;
};

} // namespace popc

#endif
