#ifndef popops_OperationDefUtil_hpp
#define popops_OperationDefUtil_hpp

#include <string>

#include <popops/Operation.hpp>
#include <poputil/VertexTemplates.hpp>
#include <poputil/exceptions.hpp>

namespace poputil {

/// Returns the name of an operation for people, as "Square Add".
inline const char *asString(const popops::Operation &op) {
  constexpr const char *kNames[] = {"Add",         "Mul",        "Min",        "Max",
                                    "Logical And", "Logical Or", "Square Add", "Log Add"};
  const auto at = static_cast<std::size_t>(op);
  if (at >= sizeof kNames / sizeof *kNames)
    throw poplibs_error("an unknown operation of a reduction");
  return kNames[at];
}

template <> struct VertexTemplateToString<popops::Operation> {
  static std::string to_string(const popops::Operation &op) {
    constexpr const char *kNames[] = {"ADD",         "MUL",        "MIN",        "MAX",
                                      "LOGICAL_AND", "LOGICAL_OR", "SQUARE_ADD", "LOG_ADD"};
    asString(op); // raises for an unknown one
    return std::string("popops::Operation::") + kNames[static_cast<std::size_t>(op)];
  }
};

} // namespace poputil

#endif
