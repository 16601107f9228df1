#ifndef popsparse_SparsityParams_hpp
#define popsparse_SparsityParams_hpp

#include <array>
#include <cstddef>
#include <ostream>
#include <tuple>
#include <utility>

namespace popsparse {
namespace dynamic {

enum class SparsityType { Element, Block };
enum class SparsityStructure { Unstructured };

/// The unit of sparsity: single elements, or blocks of these rows and columns.
struct SparsityParams {
  SparsityType type;
  SparsityStructure structure;
  std::array<std::size_t, 2> blockDimensions;

  /// The type follows from the dimensions of a block; the first argument says nothing more.
  SparsityParams(SparsityType = SparsityType::Element,
                 SparsityStructure structure = SparsityStructure::Unstructured,
                 std::array<std::size_t, 2> blockDimensions = {1, 1})
      : type(blockDimensions[0] * blockDimensions[1] == 1 ? SparsityType::Element
                                                          : SparsityType::Block),
        structure(structure), blockDimensions(blockDimensions) {}

  friend bool operator<(const SparsityParams &a, const SparsityParams &b) {
    return a.blockDimensions < b.blockDimensions;
  }
  friend bool operator==(const SparsityParams &a, const SparsityParams &b) {
    return a.blockDimensions == b.blockDimensions;
  }
  friend bool operator!=(const SparsityParams &a, const SparsityParams &b) { return !(a == b); }
};

inline std::ostream &operator<<(std::ostream &os, SparsityType type) {
  return os << (type == SparsityType::Element ? "Element" : "Block");
}
inline std::ostream &operator<<(std::ostream &os, SparsityStructure) {
  return os << "Unstructured";
}
inline std::ostream &operator<<(std::ostream &os, const SparsityParams &params) {
  return os << params.type << ' ' << params.structure << " {" << params.blockDimensions[0] << ','
            << params.blockDimensions[1] << '}';
}

} // namespace dynamic
} // namespace popsparse

#endif
