#ifndef poplar_VertexName_hpp
#define poplar_VertexName_hpp

// For the code that popc generates: the name of a vertex class as graphs write it.

#include <cxxabi.h>

#include <cstdlib>
#include <string>
#include <typeinfo>
#include <vector>

#include <poplar/VertexTable.hpp>

namespace poplar {
namespace field {

inline void replaceAll(std::string &name, const std::string &from, const std::string &to) {
  for (std::size_t at; (at = name.find(from)) != std::string::npos;)
    name.replace(at, from.size(), to);
}

/// A name of g++'s in the words of poplar::Type::toString, without spaces after commas.
inline std::string inPoplarsWords(std::string name) {
  static const char *const words[][2] = {{"{anonymous}::", ""},
                                         {"(anonymous namespace)::", ""},
                                         {"_Float16", "half"},
                                         {"poplar::half", "half"},
                                         {", ", ","},
                                         {" >", ">"},
                                         {"long long unsigned int", "unsigned long long"},
                                         {"long long int", "long long"},
                                         {"long unsigned int", "unsigned long"},
                                         {"long int", "long"},
                                         {"short unsigned int", "unsigned short"},
                                         {"short int", "short"}};
  for (const auto &word : words)
    replaceAll(name, word[0], word[1]);
  return name;
}

/// "ns::V<float,true>", without arguments that are the defaults.
template <typename V> std::string nameOf() {
  std::string name = __PRETTY_FUNCTION__;
  name = name.substr(name.find("V = ") + 4);
  name = name.substr(0, name.find("; std::"));
  if (name.back() == ']')
    name.pop_back();
  return inPoplarsWords(name);
}

/// The arguments of a template's name.
inline std::vector<std::string> argumentsOf(const std::string &name) {
  std::vector<std::string> arguments;
  int depth = 0;
  for (const char c : name) {
    depth -= c == '>';
    if (depth > 0 && !(c == ',' && depth == 1))
      arguments.back() += c;
    if ((c == '<' && depth == 0) || (c == ',' && depth == 1))
      arguments.emplace_back();
    depth += c == '<';
  }
  return arguments;
}

/// `name` with the arguments that are defaults, where they are types and numbers; else `name`.
template <typename V> std::string withDefaults(const std::string &name) {
  int status = 0;
  std::string mangled = typeid(V).name();
  replaceAll(mangled, "DF16_", "Dh"); // half's name since g++ 13: older demanglers know this one
  char *demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  const std::vector<std::string> all = argumentsOf(demangled ? demangled : "");
  std::free(demangled);
  std::string full = name;
  for (std::size_t i = argumentsOf(name).size(); i < all.size(); ++i) {
    std::string argument = inPoplarsWords(all[i]);
    argument.erase(0, argument.find_first_not_of(' '));
    if (argument.empty() || argument.find('(') != std::string::npos) // an enumerator's number
      return name;
    if (argument[0] >= '0' && argument[0] <= '9') // "3ul"
      argument.erase(argument.find_last_of("0123456789") + 1);
    full.insert(full.size() - 1, "," + argument);
  }
  return full;
}

/// Adds a vertex class to the tables, under each of its names.
template <typename V>
void describe(std::vector<VertexTable> &tables, const std::vector<FieldTable> &fields,
              bool (*compute)(void *state, unsigned worker), std::size_t codeBytes) {
  static const std::string name = nameOf<V>(), full = withDefaults<V>(name);
  const auto add = [&](const std::string &one) {
    tables.push_back({one.c_str(), sizeof(V), alignof(V), kindOf<V>(), fields.data(),
                      static_cast<unsigned>(fields.size()), compute, codeBytes});
  };
  add(name);
  if (full != name)
    add(full);
}

} // namespace field
} // namespace poplar

#endif
