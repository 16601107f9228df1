#ifndef popsparse_SparsityParams_hpp
#define popsparse_SparsityParams_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <array>
#include <cstddef>

namespace popsparse {
namespace dynamic {

enum class SparsityType { Element, Block };
enum class SparsityStructure { Unstructured };

/// The unit of sparsity: single elements, or blocks of these rows and columns.
struct SparsityParams {
  SparsityType type;
  SparsityStructure structure;
  std::array<std::size_t, 2> blockDimensions;

  SparsityParams(SparsityType type = SparsityType::Element,
                 SparsityStructure structure = SparsityStructure::Unstructured,
                 std::array<std::size_t, 2> blockDimensions = {1, 1})
      : type(type), structure(structure), blockDimensions(blockDimensions) {}
};

} // namespace dynamic
} // namespace popsparse

#endif
