#ifndef poplar_Type_hpp
#define poplar_Type_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <type_traits>

#include <poplar/HalfFloat.hpp>
#include <poplar/TypeId.hpp>

namespace poplar {

/// The type of a tensor's elements, as the device has it.
class Type {
public:
  using Id = emulator::TypeId;

  constexpr Type() = default;
  constexpr explicit Type(Id id) : id(id) {}
  /// The name in a vertex's template arguments: "float", "unsigned int".
  std::string toString() const;
  bool isSimple() const { return id != Id::None; }
  constexpr Id identity() const { return id; }

private:
  Id id = Id::None;
};

constexpr bool operator==(Type a, Type b) { return a.identity() == b.identity(); }
constexpr bool operator!=(Type a, Type b) { return !(a == b); }
constexpr bool operator<(Type a, Type b) { return a.identity() < b.identity(); }
std::ostream &operator<<(std::ostream &os, const Type &t);

constexpr Type BOOL{Type::Id::Bool};
constexpr Type CHAR{Type::Id::Char};
constexpr Type UNSIGNED_CHAR{Type::Id::UnsignedChar};
constexpr Type SIGNED_CHAR{Type::Id::SignedChar};
constexpr Type UNSIGNED_SHORT{Type::Id::UnsignedShort};
constexpr Type SHORT{Type::Id::Short};
constexpr Type UNSIGNED_INT{Type::Id::UnsignedInt};
constexpr Type INT{Type::Id::Int};
constexpr Type UNSIGNED_LONG{Type::Id::UnsignedLong};
constexpr Type LONG{Type::Id::Long};
constexpr Type UNSIGNED_LONGLONG{Type::Id::UnsignedLongLong};
constexpr Type LONGLONG{Type::Id::LongLong};
constexpr Type HALF{Type::Id::Half};
constexpr Type FLOAT{Type::Id::Float};
constexpr Type QUARTER{Type::Id::Quarter};

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
template <> struct equivalent_device_type<float> {
  const Type value = FLOAT;
};

} // namespace poplar

#endif
