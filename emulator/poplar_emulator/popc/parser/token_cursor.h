#ifndef IPULSE_POPC_TOKEN_CURSOR_H
#define IPULSE_POPC_TOKEN_CURSOR_H

#include <string>
#include <vector>

namespace popc {

/// A position in a list of tokens, with functions that advance it.
class TokenCursor {
public:
  explicit TokenCursor(std::vector<std::string> tokens) : tokens(std::move(tokens)) {}

  bool atEnd() const { return at >= tokens.size(); }
  /// Returns the token at a distance; "" beyond the last.
  const std::string &peek(std::size_t ahead = 0) const;
  /// Returns the token before the position.
  const std::string &previous() const { return tokens[at - 1]; }
  void advance(std::size_t count = 1) { at += count; }
  /// Advances past this token if it is next; returns whether it was.
  bool accept(const char *token) { return peek() == token && (++at, true); }
  std::size_t place() const { return at; }
  void returnTo(std::size_t place) { at = place; }

  /// Advances from an opening bracket past its partner. `<` closes only at `>`.
  void skipBalanced(const std::string &open, const std::string &close);
  /// Advances past the `;` or the block that ends a declaration.
  void skipDeclaration();

private:
  std::vector<std::string> tokens;
  std::size_t at = 0;
};

} // namespace popc

#endif
