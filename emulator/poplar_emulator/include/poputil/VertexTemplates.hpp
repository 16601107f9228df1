#ifndef poputil_VertexTemplates_hpp
#define poputil_VertexTemplates_hpp

#include <string>
#include <type_traits>

#include <poplar/Type.hpp>
#include <poplar/VectorLayout.hpp>

namespace poputil {

template <typename T, typename = void> struct VertexTemplateToString {
  static std::string to_string(const T &value) { return std::to_string(value); }
};
template <> struct VertexTemplateToString<bool> {
  static std::string to_string(bool value) { return value ? "true" : "false"; }
};
template <> struct VertexTemplateToString<poplar::Type> {
  static std::string to_string(const poplar::Type &type) { return type.toString(); }
};
template <> struct VertexTemplateToString<std::string> {
  static std::string to_string(const std::string &text) { return text; }
};
template <> struct VertexTemplateToString<const char *> {
  static std::string to_string(const char *text) { return text; }
};
template <> struct VertexTemplateToString<char *> : VertexTemplateToString<const char *> {};
template <> struct VertexTemplateToString<poplar::VectorLayout> {
  static std::string to_string(const poplar::VectorLayout &layout) {
    return "poplar::VectorLayout::" + poplar::to_string(layout);
  }
};

inline std::string templateVertexParams(bool) { return ">"; }
template <typename T, typename... Args>
std::string templateVertexParams(bool first, const T &value, const Args &...args) {
  return (first ? "<" : ",") +
         VertexTemplateToString<typename std::decay<T>::type>::to_string(value) +
         templateVertexParams(false, args...);
}

/// "name<a,b>": the name of a vertex with its template arguments, as addVertex takes it.
template <typename... Args>
std::string templateVertex(const std::string &name, const Args &...args) {
  return name + templateVertexParams(true, args...);
}
inline std::string templateVertex(const std::string &name) { return name; }

} // namespace poputil

#endif
