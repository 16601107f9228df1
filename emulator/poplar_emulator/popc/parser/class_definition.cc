#include "class_definition.h"

#include <algorithm>
#include <set>

#include "tokens.h"

namespace popc {

std::optional<VertexClass> ClassDefinition::read() {
  cursor.advance();
  VertexClass found;
  while (isWord(cursor.peek()) && cursor.peek() != "final") {
    const bool attribute = cursor.peek() == "__attribute__" || cursor.peek() == "alignas";
    if (!attribute)
      found.name = cursor.peek();
    cursor.advance();
    if (attribute)
      cursor.skipBalanced("(", ")");
  }
  cursor.accept("final");
  if (cursor.peek() != ":" && cursor.peek() != "{") {
    cursor.skipDeclaration();
    return std::nullopt;
  }
  if (cursor.accept(":"))
    bases(found);
  cursor.accept("{");
  while (!cursor.atEnd() && cursor.peek() != "}")
    member(found);
  cursor.accept("}");
  cursor.skipDeclaration();
  return found;
}

void ClassDefinition::bases(VertexClass &found) {
  std::string last;
  while (!cursor.atEnd() && cursor.peek() != "{") {
    if (cursor.peek() == "<") {
      cursor.skipBalanced("<", ">");
      continue;
    }
    if (cursor.peek() == ",")
      found.bases.push_back(last);
    else if (isWord(cursor.peek()))
      last = cursor.peek();
    cursor.advance();
  }
  found.bases.push_back(last);
}

void ClassDefinition::member(VertexClass &owner) {
  static const std::set<std::string> noFields{"using", "typedef",  "friend", "static",
                                              "enum",  "class",    "struct", "static_assert",
                                              "union", "constexpr"};
  if (cursor.accept(";"))
    return;
  if ((cursor.peek() == "public" || cursor.peek() == "private" || cursor.peek() == "protected") &&
      cursor.peek(1) == ":") {
    cursor.advance(2);
    return;
  }
  if (cursor.peek() == "template") {
    cursor.advance();
    cursor.skipBalanced("<", ">");
    function();
    return;
  }
  if (noFields.count(cursor.peek())) {
    // A static function may have a body; anything else ends with its `;`.
    function();
    return;
  }
  const std::size_t begin = cursor.place();
  std::vector<std::string> names, initialised;
  std::string last;
  bool isField = true, isConst = false;
  while (!cursor.atEnd()) {
    const std::string t = cursor.peek();
    // The word may come after others, such as `inline` or `const`.
    isField = isField && t != "static";
    isConst = isConst || t == "const";
    if (t == "__attribute__" || t == "alignas" || t == "decltype") {
      cursor.advance();
      cursor.skipBalanced("(", ")");
    } else if (t == "(" || t == "operator" || t == "~") {
      owner.hasConstructor = owner.hasConstructor || (t == "(" && last == owner.name);
      cursor.returnTo(begin);
      function();
      return;
    } else if (t == "<") {
      cursor.skipBalanced("<", ">");
    } else if (t == ";" || t == ",") {
      if (!last.empty())
        names.push_back(last);
      last.clear();
      cursor.advance();
      if (t == ";")
        break;
    } else if (t == "=" || t == "{" || t == "[" || t == ":") {
      names.push_back(last);
      if (t == "=" || t == "{")
        initialised.push_back(last);
      last.clear();
      initialiser();
    } else if (t == "}") {
      break;
    } else {
      if (isWord(t))
        last = t;
      cursor.advance();
    }
  }
  if (!isField)
    return;
  owner.fields.insert(owner.fields.end(), names.begin(), names.end());
  for (const std::string &name : names)
    if (isConst && std::find(initialised.begin(), initialised.end(), name) == initialised.end())
      owner.constants.push_back(name);
  owner.initialised.insert(owner.initialised.end(), initialised.begin(), initialised.end());
}

void ClassDefinition::initialiser() {
  while (!cursor.atEnd() && cursor.peek() != ";" && cursor.peek() != ",") {
    if (cursor.peek() == "{")
      cursor.skipBalanced("{", "}");
    else if (cursor.peek() == "(")
      cursor.skipBalanced("(", ")");
    else if (cursor.peek() == "<")
      cursor.skipBalanced("<", ">");
    else
      cursor.advance();
  }
}

void ClassDefinition::function() {
  while (!cursor.atEnd() && cursor.peek() != "}") {
    if (cursor.peek() == "(") {
      cursor.skipBalanced("(", ")");
    } else if (cursor.accept(";")) {
      return;
    } else if (cursor.peek() == "{") {
      cursor.skipBalanced("{", "}");
      cursor.accept(";");
      return;
    } else if (cursor.peek() == ":") {
      cursor.advance();
      memberInitialisers();
    } else {
      cursor.advance();
    }
  }
}

void ClassDefinition::memberInitialisers() {
  while (!cursor.atEnd()) {
    while (isWord(cursor.peek()) || cursor.peek() == "::" || cursor.peek() == "<")
      cursor.peek() == "<" ? cursor.skipBalanced("<", ">") : cursor.advance();
    if (cursor.peek() == "(")
      cursor.skipBalanced("(", ")");
    else if (cursor.peek() == "{")
      cursor.skipBalanced("{", "}");
    if (!cursor.accept(","))
      return;
  }
}

} // namespace popc
