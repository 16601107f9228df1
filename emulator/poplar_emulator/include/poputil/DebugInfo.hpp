#ifndef poputil_DebugInfo_hpp
#define poputil_DebugInfo_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <poplar/DebugContext.hpp>
#include <poplar/Graph.hpp>
#include <poplar/ProfileValue.hpp>
#include <poplar/Tensor.hpp>

/// The arguments of a function for its PoplibsOpDebugInfo; they are not recorded here.
#define DI_ARGS(...)                                                                               \
  {                                                                                                \
  }
#define DI_KEYS(...)                                                                               \
  {                                                                                                \
  }

namespace poputil {

/// A value of an operation, as a profile shows it.
template <typename T>
typename std::enable_if<std::is_arithmetic<T>::value || std::is_enum<T>::value,
                        poplar::ProfileValue>::type
toProfileValue(T value) {
  return poplar::ProfileValue(static_cast<double>(value));
}
inline poplar::ProfileValue toProfileValue(bool value) { return poplar::ProfileValue(value); }
inline poplar::ProfileValue toProfileValue(const std::string &text) { return text; }
inline poplar::ProfileValue toProfileValue(const char *text) { return std::string(text); }
inline poplar::ProfileValue toProfileValue(const poplar::Type &type) {
  return type.toString().cloneAsString();
}
inline poplar::ProfileValue toProfileValue(const poplar::ComputeSet &cs) { return cs.getId(); }
inline poplar::ProfileValue toProfileValue(const poplar::Tensor &t) {
  poplar::ProfileValue map;
  map.insert("type", toProfileValue(t.elementType()));
  map.insert("shape", t.shapeToString());
  return map;
}
inline poplar::ProfileValue toProfileValue(const poplar::OptionFlags &options) {
  poplar::ProfileValue map;
  for (const auto &option : options)
    map.insert(option.first, option.second);
  return map;
}
inline poplar::ProfileValue toProfileValue(const poplar::program::Program &) { return "<program>"; }
template <typename T> poplar::ProfileValue toProfileValue(const std::vector<T> &values) {
  poplar::ProfileValue::Vector all;
  for (const T &value : values)
    all.push_back(toProfileValue(value));
  return all;
}
template <typename T> poplar::ProfileValue toProfileValue(T *value) {
  return value ? toProfileValue(*value) : poplar::ProfileValue("<null>");
}

/// The name of an argument, and its value.
struct ArgType {
  ArgType() = default;
  ArgType(std::string name, poplar::ProfileValue value)
      : n(std::move(name)), pv(std::move(value)) {}
  template <typename T, typename = decltype(toProfileValue(std::declval<const T &>()))>
  ArgType(std::string name, const T &value) : ArgType(std::move(name), toProfileValue(value)) {}
  std::string n;
  poplar::ProfileValue pv;
};

/// Debug information of an operation of PopLibs: its name.
class PoplibsOpDebugInfo : public poplar::DebugInfo {
public:
  PoplibsOpDebugInfo(const poplar::DebugContext &debugContext, std::vector<ArgType> = {},
                     const std::string &api = "")
      : poplar::DebugInfo(debugContext, api) {}
  void addOutput(const poplar::Tensor &) {}
  void addOutputs(const std::vector<ArgType> &) {}
};

} // namespace poputil

#endif
