#include "declarations.h"

#include <algorithm>
#include <set>

#include "tokens.h"

namespace popc {
namespace {

const std::set<std::string> kVertexBases{"Vertex", "MultiVertex", "SupervisorVertex",
                                         "SupervisorVertexIf", "VertexBase"};

/// Walks the declarations of a translation unit. Function bodies are skipped as blocks.
class Scanner {
public:
  explicit Scanner(std::vector<std::string> tokens) : tokens(std::move(tokens)) {}

  void run() {
    while (!atEnd())
      declaration();
  }

  std::vector<VertexClass> classes;
  std::vector<Instantiation> instantiations;

private:
  bool atEnd() const { return at >= tokens.size(); }
  const std::string &peek(std::size_t ahead = 0) const {
    static const std::string none;
    return at + ahead < tokens.size() ? tokens[at + ahead] : none;
  }
  bool accept(const char *token) { return peek() == token && (++at, true); }

  /// From an opening bracket to behind its partner. `<` closes only at `>`.
  void skipBalanced(const std::string &open, const std::string &close) {
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

  /// To behind the `;` or the block that ends a declaration.
  void skipDeclaration() {
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
        // `= {...};` and `struct {...} name;` go on; a function's body ends it.
        if (peek() != ";" && peek() != "," && !(isWord(peek()) && peek(1) == ";"))
          return;
      } else if (t == "}") {
        return; // of the scope around
      } else {
        ++at;
      }
    }
  }

  void declaration() {
    if (accept("}")) {
      if (!scopes.empty())
        scopes.pop_back();
    } else if (peek() == "namespace" || (peek() == "inline" && peek(1) == "namespace")) {
      accept("inline");
      openNamespace();
    } else if (peek() == "extern" && peek(1)[0] == '"' && peek(2) == "{") {
      at += 3;
      scopes.push_back(0);
      // A transparent scope: leaving it removes no namespace.
    } else if (peek() == "template" && peek(1) == "<") {
      ++at;
      skipBalanced("<", ">");
      if (peek() == "class" || peek() == "struct")
        classDefinition(true);
      else
        skipDeclaration();
    } else if (peek() == "template" && (peek(1) == "class" || peek(1) == "struct")) {
      at += 2;
      instantiation();
    } else if (peek() == "class" || peek() == "struct") {
      classDefinition(false);
    } else {
      skipDeclaration();
    }
  }

  void openNamespace() {
    ++at;
    std::size_t names = 0;
    while (isWord(peek()) || peek() == "::" || peek() == "inline") {
      if (peek() == "__attribute__") {
        ++at;
        skipBalanced("(", ")");
        continue;
      }
      if (peek() != "::" && peek() != "inline") {
        namespaces.push_back(peek());
        ++names;
      }
      ++at;
    }
    if (accept("=")) { // an alias
      namespaces.resize(namespaces.size() - names);
      skipDeclaration();
      return;
    }
    if (names == 0) {
      namespaces.emplace_back();
      names = 1;
    }
    accept("{");
    scopes.push_back(names);
    scopeEnds();
  }

  /// Runs the declarations of the namespace just opened.
  void scopeEnds() {
    const std::size_t depth = scopes.size(), names = scopes.back();
    while (!atEnd() && scopes.size() >= depth)
      declaration();
    namespaces.resize(namespaces.size() - names);
  }

  void instantiation() {
    Instantiation found{namespaces, "", ""};
    while (!atEnd() && peek() != ";") {
      if (peek() == "<" && found.name.empty())
        found.name = tokens[at - 1];
      found.type += found.type.empty() ? peek() : " " + peek();
      ++at;
    }
    accept(";");
    instantiations.push_back(std::move(found));
  }

  void classDefinition(bool isTemplate) {
    ++at;
    VertexClass found;
    found.namespaces = namespaces;
    found.isTemplate = isTemplate;
    while (isWord(peek()) && peek() != "final") {
      const bool attribute = peek() == "__attribute__" || peek() == "alignas";
      if (!attribute)
        found.name = peek();
      ++at;
      if (attribute)
        skipBalanced("(", ")");
    }
    accept("final");
    if (peek() != ":" && peek() != "{") { // a declaration, a specialisation or a variable
      skipDeclaration();
      return;
    }
    if (accept(":")) {
      std::string last;
      while (!atEnd() && peek() != "{") {
        if (peek() == "<") {
          skipBalanced("<", ">");
          continue;
        }
        if (peek() == ",")
          found.bases.push_back(last);
        else if (isWord(peek()))
          last = peek();
        ++at;
      }
      found.bases.push_back(last);
    }
    accept("{");
    while (!atEnd() && peek() != "}")
      member(found);
    accept("}");
    skipDeclaration();
    classes.push_back(std::move(found));
  }

  void member(VertexClass &owner) {
    static const std::set<std::string> noFields{"using", "typedef",  "friend", "static",
                                                "enum",  "class",    "struct", "static_assert",
                                                "union", "constexpr"};
    if (accept(";"))
      return;
    if ((peek() == "public" || peek() == "private" || peek() == "protected") && peek(1) == ":") {
      at += 2;
      return;
    }
    if (peek() == "template") {
      ++at;
      skipBalanced("<", ">");
      function();
      return;
    }
    if (noFields.count(peek())) {
      // A static function may have a body; anything else ends with its `;`.
      function();
      return;
    }
    const std::size_t begin = at;
    std::vector<std::string> names;
    std::string last;
    while (!atEnd()) {
      const std::string t = peek();
      if (t == "__attribute__" || t == "alignas" || t == "decltype") {
        ++at;
        skipBalanced("(", ")");
      } else if (t == "(" || t == "operator" || t == "~") {
        at = begin;
        function();
        return;
      } else if (t == "<") {
        skipBalanced("<", ">");
      } else if (t == ";" || t == ",") {
        if (!last.empty())
          names.push_back(last);
        last.clear();
        ++at;
        if (t == ";")
          break;
      } else if (t == "=" || t == "{" || t == "[" || t == ":") {
        names.push_back(last);
        last.clear();
        initialiser();
      } else if (t == "}") {
        break;
      } else {
        if (isWord(t))
          last = t;
        ++at;
      }
    }
    owner.fields.insert(owner.fields.end(), names.begin(), names.end());
  }

  /// To the `,` or `;` behind a field's initialiser, array bound or width.
  void initialiser() {
    while (!atEnd() && peek() != ";" && peek() != ",") {
      if (peek() == "{")
        skipBalanced("{", "}");
      else if (peek() == "(")
        skipBalanced("(", ")");
      else if (peek() == "<")
        skipBalanced("<", ">");
      else
        ++at;
    }
  }

  /// To behind a member function, with its initialisers and its body.
  void function() {
    while (!atEnd() && peek() != "}") {
      if (peek() == "(") {
        skipBalanced("(", ")");
      } else if (accept(";")) {
        return;
      } else if (peek() == "{") {
        skipBalanced("{", "}");
        accept(";");
        return;
      } else if (peek() == ":") {
        ++at;
        memberInitialisers();
      } else {
        ++at;
      }
    }
  }

  void memberInitialisers() {
    while (!atEnd()) {
      while (isWord(peek()) || peek() == "::" || peek() == "<")
        peek() == "<" ? skipBalanced("<", ">") : static_cast<void>(++at);
      if (peek() == "(")
        skipBalanced("(", ")");
      else if (peek() == "{")
        skipBalanced("{", "}");
      if (!accept(","))
        return;
    }
  }

  std::vector<std::string> tokens;
  std::size_t at = 0;
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
