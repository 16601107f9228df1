#ifndef poplar_Quarter_hpp
#define poplar_Quarter_hpp

// [M] Signatures are from memory: Poplar's headers are closed.

#include <cstdint>

namespace poplar {

/// The format of 8-bit floats and the power of two that scales them. Tensors of them have memory
/// and can be copied; no operation of the emulator produces or reads their values.
class QuarterMetadata {
public:
  /// Bits of sign, exponent and mantissa.
  enum class Format : std::uint8_t { F152, F143 };

  QuarterMetadata() = default;
  QuarterMetadata(Format format, int scale)
      : format(format), scale(static_cast<std::int8_t>(scale)) {}
  Format getFormat() const { return format; }
  std::int8_t getScale() const { return scale; }

private:
  Format format = Format::F143;
  std::int8_t scale = 0;
};
inline bool operator==(QuarterMetadata a, QuarterMetadata b) {
  return a.getFormat() == b.getFormat() && a.getScale() == b.getScale();
}
inline bool operator!=(QuarterMetadata a, QuarterMetadata b) { return !(a == b); }

} // namespace poplar

#endif
