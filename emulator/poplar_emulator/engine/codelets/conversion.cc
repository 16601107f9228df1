#include "conversion.h"

#include <cstdint>
#include <cstring>

#include <poplar/exceptions.hpp>

#include "device/machine.h"

namespace poplar::emulator {
namespace {

/// Calls f with a value of the host type that holds an element of `type`.
template <typename F> void withHostType(Type type, F &&f) {
  switch (type.identity()) {
  case Type::Id::Bool:
    return f(std::uint8_t());
  case Type::Id::Char:
    return f(char());
  case Type::Id::UnsignedChar:
    return f(std::uint8_t());
  case Type::Id::SignedChar:
    return f(std::int8_t());
  case Type::Id::UnsignedShort:
    return f(std::uint16_t());
  case Type::Id::Short:
    return f(std::int16_t());
  case Type::Id::UnsignedInt:
    return f(std::uint32_t());
  case Type::Id::Int:
    return f(std::int32_t());
  case Type::Id::UnsignedLong:
  case Type::Id::UnsignedLongLong:
    return f(std::uint64_t());
  case Type::Id::Long:
  case Type::Id::LongLong:
    return f(std::int64_t());
  case Type::Id::Half:
    return f(half());
  case Type::Id::Float:
    return f(float());
  case Type::Id::Quarter:
  case Type::Id::QuarterMetadata:
  case Type::Id::None:
    break;
  }
  throw type_error("no values of type " + type.toString() + " are emulated");
}

template <typename T> T load(const void *values, std::size_t i) {
  T value;
  std::memcpy(&value, static_cast<const char *>(values) + i * sizeof(T), sizeof(T));
  return value;
}

template <typename To, typename From> To numeric(From value) {
  if constexpr (std::is_same<To, half>::value)
    return half(static_cast<float>(value));
  else if constexpr (std::is_same<From, half>::value)
    return static_cast<To>(static_cast<float>(value));
  else
    return static_cast<To>(value);
}

} // namespace

std::vector<char> convert(Type from, const void *values, std::size_t n, Type to) {
  std::vector<char> bytes(n * sizeOf(to));
  if (from == to) {
    if (n)
      std::memcpy(bytes.data(), values, bytes.size());
    return bytes;
  }
  withHostType(from, [&](auto source) {
    withHostType(to, [&](auto target) {
      for (std::size_t i = 0; i < n; ++i) {
        const auto value = load<decltype(source)>(values, i);
        target = numeric<decltype(target)>(value);
        if (to == BOOL)
          target = numeric<decltype(target)>(numeric<double>(value) != 0 ? 1 : 0);
        std::memcpy(bytes.data() + i * sizeof(target), &target, sizeof target);
      }
    });
  });
  return bytes;
}

double numberAt(Type type, const void *values, std::size_t i) {
  double number = 0;
  withHostType(type,
               [&](auto example) { number = numeric<double>(load<decltype(example)>(values, i)); });
  return number;
}

void storeNumber(Type type, void *values, std::size_t i, double number) {
  withHostType(type, [&](auto example) {
    example = numeric<decltype(example)>(number);
    std::memcpy(static_cast<char *>(values) + i * sizeof(example), &example, sizeof example);
  });
}

} // namespace poplar::emulator
