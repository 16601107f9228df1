#ifndef IPULSE_POPC_CLASS_DEFINITION_H
#define IPULSE_POPC_CLASS_DEFINITION_H

#include <optional>

#include "declarations.h"
#include "token_cursor.h"

namespace popc {

/// Reads a class from `class` or `struct` past its end: name, bases and fields. Returns nothing for
/// a declaration, a specialisation or a variable, which is skipped.
class ClassDefinition {
public:
  explicit ClassDefinition(TokenCursor &cursor) : cursor(cursor) {}
  std::optional<VertexClass> read();

private:
  void bases(VertexClass &found);
  void member(VertexClass &owner);
  /// Advances to the `,` or `;` after a field's initialiser, array bound or width.
  void initialiser();
  /// Skips a member function with its initialisers and its body.
  void function();
  void memberInitialisers();

  TokenCursor &cursor;
};

} // namespace popc

#endif
