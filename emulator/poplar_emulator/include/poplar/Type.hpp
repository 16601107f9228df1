#ifndef poplar_Type_hpp
#define poplar_Type_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <type_traits>

#include <poplar/HalfFloat.hpp>
#include <poplar/IeeeHalf.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/TypeId.hpp>

namespace poplar {

/// The type of a tensor's elements, as the device has it.
class Type {
public:
  using Id = emulator::TypeId;

  constexpr Type() = default;
  constexpr explicit Type(Id id) : id(id) {}
  /// The name in a vertex's template arguments: "float", "unsigned int".
  StringRef toString() const;
  bool isFloatingPoint() const { return id == Id::Half || id == Id::Float || id == Id::Quarter; }
  bool isSimple() const { return id != Id::None; }
  constexpr Id identity() const { return id; }

private:
  Id id = Id::None;
};

constexpr bool operator==(Type a, Type b) { return a.identity() == b.identity(); }
constexpr bool operator!=(Type a, Type b) { return !(a == b); }
constexpr bool operator<(Type a, Type b) { return a.identity() < b.identity(); }
std::ostream &operator<<(std::ostream &os, const Type &t);

// Variables, because programs pass them as `Type &`. They have their values before any
// initialiser runs.
extern Type BOOL;
extern Type CHAR;
extern Type UNSIGNED_CHAR;
extern Type SIGNED_CHAR;
extern Type UNSIGNED_SHORT;
extern Type SHORT;
extern Type UNSIGNED_INT;
extern Type INT;
extern Type UNSIGNED_LONG;
extern Type LONG;
extern Type UNSIGNED_LONGLONG;
extern Type LONGLONG;
extern Type HALF;
extern Type FLOAT;
extern Type QUARTER;
/// The format and scale of a QUARTER tensor.
extern Type QUARTER_METADATA;

/// The device type that holds a C++ type of the host or of a codelet.
template <typename T> struct equivalent_device_type {
  static_assert(!std::is_same<T, double>::value, "the IPU has no double");
};
template <> struct equivalent_device_type<bool> {
  const Type value = BOOL;
};
template <> struct equivalent_device_type<char> {
  const Type value = CHAR;
};
template <> struct equivalent_device_type<unsigned char> {
  const Type value = UNSIGNED_CHAR;
};
template <> struct equivalent_device_type<signed char> {
  const Type value = SIGNED_CHAR;
};
template <> struct equivalent_device_type<unsigned short> {
  const Type value = UNSIGNED_SHORT;
};
template <> struct equivalent_device_type<short> {
  const Type value = SHORT;
};
template <> struct equivalent_device_type<unsigned> {
  const Type value = UNSIGNED_INT;
};
template <> struct equivalent_device_type<int> {
  const Type value = INT;
};
template <> struct equivalent_device_type<unsigned long> {
  const Type value = UNSIGNED_LONG;
};
template <> struct equivalent_device_type<long> {
  const Type value = LONG;
};
template <> struct equivalent_device_type<unsigned long long> {
  const Type value = UNSIGNED_LONGLONG;
};
template <> struct equivalent_device_type<long long> {
  const Type value = LONGLONG;
};
template <> struct equivalent_device_type<half> {
  const Type value = HALF;
};
template <> struct equivalent_device_type<IeeeHalf> {
  const Type value = HALF;
};
template <> struct equivalent_device_type<float> {
  const Type value = FLOAT;
};

} // namespace poplar

/// Makes T a host type of the device type TYPE.
#define POPLAR_DECLARE_EQUIV_TYPE(T, TYPE)                                                         \
  namespace poplar {                                                                               \
  template <> struct equivalent_device_type<T> {                                                   \
    const Type value = TYPE;                                                                       \
  };                                                                                               \
  }

template <> struct std::hash<poplar::Type> {
  std::size_t operator()(poplar::Type t) const { return static_cast<std::size_t>(t.identity()); }
};

#endif
