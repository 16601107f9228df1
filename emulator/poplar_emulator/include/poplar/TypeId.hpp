#ifndef poplar_TypeId_hpp
#define poplar_TypeId_hpp

#include <cstdint>

namespace poplar {
namespace emulator {

/// The types of a device. Separate from Type, because codelets may use the names of its constants
/// for something else.
enum class TypeId : std::uint8_t {
  None,
  Bool,
  Char,
  UnsignedChar,
  SignedChar,
  UnsignedShort,
  Short,
  UnsignedInt,
  Int,
  UnsignedLong,
  Long,
  UnsignedLongLong,
  LongLong,
  Half,
  Float,
  Quarter,
  QuarterMetadata,
};

} // namespace emulator
} // namespace poplar

#endif
