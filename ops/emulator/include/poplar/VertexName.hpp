#ifndef poplar_VertexName_hpp
#define poplar_VertexName_hpp

// For the code that popc generates: the name of a vertex class as graphs write it.

#include <cxxabi.h>

#include <cctype>
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

/// A compiler's name in the words of poplar::Type::toString, without spaces after commas.
inline std::string inPoplarsWords(std::string name) {
  static const char *const words[][2] = {{"{anonymous}::", ""},
                                         {"(anonymous namespace)::", ""},
                                         {"_Float16", "half"},
                                         {"__fp16", "half"},
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

/// The name as the compiler writes it: enumerators by name, and only arguments that were given.
template <typename V> std::string writtenName() {
  std::string name = __PRETTY_FUNCTION__;
  name = name.substr(name.find("V = ") + 4);
  name = name.substr(0, name.find("; std::"));
  if (name.back() == ']')
    name.pop_back();
  return inPoplarsWords(name);
}

/// The name as it is mangled: qualified, enumerators by number, and with all arguments.
template <typename V> std::string demangledName() {
  int status = 0;
  std::string mangled = typeid(V).name();
  replaceAll(mangled, "DF16_", "Dh"); // half's name since g++ 13: older demanglers know this one
  char *demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  const std::string name = inPoplarsWords(demangled ? demangled : "");
  std::free(demangled);
  return name;
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

/// An argument as graphs write it, or "" where that cannot be told.
/// written: the same as the compiler writes it, which may leave out namespaces; "" if it is a
/// default.
inline std::string argumentOf(std::string demangled, const std::string &written) {
  if (demangled[0] == '(') { // "(ns::Enum)1", of which "Enum::A" is written
    const std::string type = demangled.substr(1, demangled.find(')') - 1);
    const std::string ofEnum = type.substr(type.rfind(':') + 1) + "::";
    const std::size_t at = written.rfind(ofEnum);
    return at == std::string::npos ? written : type + written.substr(at + ofEnum.size() - 2);
  }
  if (demangled.find('(') != std::string::npos)
    return written;
  if (std::isdigit(static_cast<unsigned char>(demangled[0]))) // "3ul"
    demangled.erase(demangled.find_last_of("0123456789") + 1);
  return demangled;
}

/// The names of a vertex class: "ns::V<float>" without arguments that are the defaults and, where
/// these are types and numbers, "ns::V<float,true>".
template <typename V> std::vector<std::string> namesOf() {
  const std::string demangled = demangledName<V>();
  const std::vector<std::string> all = argumentsOf(demangled),
                                 given = argumentsOf(writtenName<V>());
  std::string name = demangled.substr(0, demangled.find('<'));
  std::vector<std::string> names;
  if (given.empty())
    names.push_back(name);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string argument = argumentOf(all[i], i < given.size() ? given[i] : "");
    if (argument.empty())
      break;
    name += (i == 0 ? "<" : ",") + argument;
    if (i + 1 == given.size() || i + 1 == all.size())
      names.push_back(name + ">");
  }
  return names;
}

/// Adds a vertex class to the tables, under each of its names.
template <typename V>
void describe(std::vector<VertexTable> &tables, const std::vector<FieldTable> &fields,
              bool (*compute)(void *state, unsigned worker), std::size_t codeBytes) {
  static const std::vector<std::string> names = namesOf<V>();
  for (const std::string &name : names)
    tables.push_back({name.c_str(), sizeof(V), alignof(V), kindOf<V>(), fields.data(),
                      static_cast<unsigned>(fields.size()), compute, codeBytes});
}

} // namespace field
} // namespace poplar

#endif
