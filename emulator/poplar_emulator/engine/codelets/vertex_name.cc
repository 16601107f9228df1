#include <poplar/VertexName.hpp>

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

namespace poplar::field {
namespace {

void replaceAll(std::string &name, const std::string &from, const std::string &to) {
  for (std::size_t at; (at = name.find(from)) != std::string::npos;)
    name.replace(at, from.size(), to);
}

/// Converts a compiler's type name to that of poplar::Type::toString, without spaces after commas.
std::string inPoplarsWords(std::string name) {
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

/// The name as the compiler writes it: enumerators by name, and only the given arguments.
std::string writtenName(std::string name) {
  name = name.substr(name.find("V = ") + 4);
  if (name.back() == ']')
    name.pop_back();
  return inPoplarsWords(name);
}

/// The mangled name: qualified, enumerators by number, and with all arguments.
std::string demangledName(std::string mangled) {
  int status = 0;
  replaceAll(mangled, "DF16_", "Dh"); // half's name since g++ 13: older demanglers know this one
  char *demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  const std::string name = inPoplarsWords(demangled ? demangled : "");
  std::free(demangled);
  return name;
}

/// The arguments of a template's name.
std::vector<std::string> argumentsOf(const std::string &name) {
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

/// Returns an argument as graphs write it, or "" if that is unknown. written: the same as the
/// compiler writes it, perhaps without namespaces; "" for a default argument.
std::string argumentOf(std::string demangled, const std::string &written) {
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

/// Returns the names of a vertex class: "ns::V<float>" without default arguments and, if these are
/// types and numbers, "ns::V<float,true>".
std::vector<std::string> namesOf(const std::string &demangled, const std::string &written) {
  const std::vector<std::string> all = argumentsOf(demangled), given = argumentsOf(written);
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

/// Returns a copy of the text that lives as long as the process: tables point to it.
const char *kept(const std::string &name) {
  static std::mutex mutex;
  static auto &names = *new std::set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  return names.insert(name).first->c_str();
}

} // namespace

void addVertex(std::vector<VertexTable> &tables, VertexTable vertex, const char *written,
               const char *mangled) {
  for (const std::string &name : namesOf(demangledName(mangled), writtenName(written))) {
    vertex.name = kept(name);
    tables.push_back(vertex);
  }
}

} // namespace poplar::field
