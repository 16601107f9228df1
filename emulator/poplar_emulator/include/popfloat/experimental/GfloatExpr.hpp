#ifndef popfloat_experimental_GfloatExpr_hpp
#define popfloat_experimental_GfloatExpr_hpp

// [C] The names of PopLibs' header, in its order: programs store them as numbers. The casts that
// take them are not emulated.

namespace popfloat {
namespace experimental {

/// Rounding: none, towards zero, to nearest with ties to even or away, up, down, stochastic with
/// all or with fewer random bits.
enum class RoundType { INV, RZ, RN, RA, RU, RD, SR, SX };

/// Formats of generic floating-point numbers, by how they are stored.
enum class FormatType {
  INVALID_FORMAT,
  IEEE_FP16,
  QUANTISED_FP32,
  QUANTISED_FP16,
  MIN_NORM_ALIGN_GF8,
  ONE_FIVE_TWO_GF8,
  MAX_NORM_ALIGN_GF8,
  BFLOAT16,
  NO_DENORM_GF16,
  ENABLE_DENORM_GF16
};

/// Distributions of the noise that stochastic rounding adds.
enum class SRDensityType {
  INVALID,
  UNIFORM,
  NORMAL,
  TRUNCATED_NORMAL,
  BERNOULLI,
  LOGISTIC,
  TRUNCATED_LOGISTIC,
  LAPLACE,
  TRUNCATED_LAPLACE,
  LOGIT_NORMAL,
  TRUNCATED_LOGIT_NORMAL
};

/// Types of a cast's output; AUTO is the smallest that represents it.
enum class SpecType { FP32, FP16, INT8, INT16, INT32, AUTO };

} // namespace experimental
} // namespace popfloat

#endif
