#include "declarations.h"

#include <algorithm>
#include <optional>
#include <set>

#include "class_definition.h"
#include "token_cursor.h"
#include "tokens.h"

namespace popc {
namespace {

const std::set<std::string> kVertexBases{"Vertex", "MultiVertex", "SupervisorVertex",
                                         "SupervisorVertexIf", "VertexBase"};

/// Reads the declarations of a translation unit. Function bodies are skipped as blocks.
class Scanner {
public:
  explicit Scanner(std::vector<std::string> tokens) : cursor(std::move(tokens)) {}

  void run() {
    while (!cursor.atEnd())
      declaration();
  }

  std::vector<VertexClass> classes;
  std::vector<Instantiation> instantiations;

private:
  void declaration() {
    if (cursor.accept("}")) {
      if (!scopes.empty())
        scopes.pop_back();
    } else if (cursor.peek() == "namespace" ||
               (cursor.peek() == "inline" && cursor.peek(1) == "namespace")) {
      cursor.accept("inline");
      openNamespace();
    } else if (cursor.peek() == "extern" && cursor.peek(1)[0] == '"' && cursor.peek(2) == "{") {
      cursor.advance(3);
      scopes.push_back(0);
      // A transparent scope: leaving it removes no namespace.
    } else if (cursor.peek() == "template" && cursor.peek(1) == "<") {
      cursor.advance();
      cursor.skipBalanced("<", ">");
      if (cursor.peek() == "class" || cursor.peek() == "struct")
        classDefinition(true);
      else
        cursor.skipDeclaration();
    } else if (cursor.peek() == "template" &&
               (cursor.peek(1) == "class" || cursor.peek(1) == "struct")) {
      cursor.advance(2);
      instantiation();
    } else if (cursor.peek() == "class" || cursor.peek() == "struct") {
      classDefinition(false);
    } else {
      cursor.skipDeclaration();
    }
  }

  void openNamespace() {
    cursor.advance();
    std::size_t names = 0;
    while (isWord(cursor.peek()) || cursor.peek() == "::" || cursor.peek() == "inline") {
      if (cursor.peek() == "__attribute__") {
        cursor.advance();
        cursor.skipBalanced("(", ")");
        continue;
      }
      if (cursor.peek() != "::" && cursor.peek() != "inline") {
        namespaces.push_back(cursor.peek());
        ++names;
      }
      cursor.advance();
    }
    if (cursor.accept("=")) { // an alias
      namespaces.resize(namespaces.size() - names);
      cursor.skipDeclaration();
      return;
    }
    if (names == 0) {
      namespaces.emplace_back();
      names = 1;
    }
    cursor.accept("{");
    scopes.push_back(names);
    scopeEnds();
  }

  /// Reads the declarations of the namespace that was just opened.
  void scopeEnds() {
    const std::size_t depth = scopes.size(), names = scopes.back();
    while (!cursor.atEnd() && scopes.size() >= depth)
      declaration();
    namespaces.resize(namespaces.size() - names);
  }

  void instantiation() {
    Instantiation found{namespaces, "", ""};
    while (!cursor.atEnd() && cursor.peek() != ";") {
      if (cursor.peek() == "<" && found.name.empty())
        found.name = cursor.previous();
      found.type += found.type.empty() ? cursor.peek() : " " + cursor.peek();
      cursor.advance();
    }
    cursor.accept(";");
    instantiations.push_back(std::move(found));
  }

  void classDefinition(bool isTemplate) {
    std::optional<VertexClass> found = ClassDefinition(cursor).read();
    if (!found)
      return;
    found->namespaces = namespaces;
    found->isTemplate = isTemplate;
    classes.push_back(std::move(*found));
  }

  TokenCursor cursor;
  std::vector<std::string> namespaces;
  std::vector<std::size_t> scopes; // by open scope: namespaces that it adds
};

const VertexClass *find(const std::vector<VertexClass> &classes, const std::string &name) {
  const auto found = std::find_if(classes.begin(), classes.end(),
                                  [&](const VertexClass &c) { return c.name == name; });
  return found == classes.end() ? nullptr : &*found;
}

bool isVertex(const std::vector<VertexClass> &classes, const VertexClass &c, int depth = 0) {
  return depth < 16 && std::any_of(
                           c.bases.begin(), c.bases.end(),
                           [&](const std::string &base) {
                             const VertexClass *known = find(classes, base);
                             return kVertexBases.count(base) ||
                                    (known && isVertex(classes, *known, depth + 1));
                           });
}

} // namespace

std::vector<std::string> Declarations::fieldsOf(const std::string &name) const {
  std::vector<std::string> fields;
  const VertexClass *c = find(vertices, name);
  if (!c)
    return fields;
  for (const std::string &base : c->bases)
    for (const std::string &field : fieldsOf(base))
      fields.push_back(field);
  for (const std::string &field : c->fields)
    if (std::find(fields.begin(), fields.end(), field) == fields.end())
      fields.push_back(field);
  return fields;
}

Declarations findDeclarations(const std::string &preprocessed) {
  Scanner scanner(tokenize(preprocessed));
  scanner.run();
  Declarations result;
  for (const VertexClass &c : scanner.classes)
    if (!kVertexBases.count(c.name) && isVertex(scanner.classes, c))
      result.vertices.push_back(c);
  for (const Instantiation &i : scanner.instantiations)
    if (find(result.vertices, i.name))
      result.instantiations.push_back(i);
  return result;
}

} // namespace popc
