#ifndef popops_Pad_hpp
#define popops_Pad_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <cstddef>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>

namespace popops {

namespace padding {
enum class Type { CONSTANT, EDGE, REFLECT };
/// The tile mapping of the padding; here always tile 0 of the graph, except for NONE.
enum class MappingMethod { NONE, ZERO, EDGE };
} // namespace padding

/// t with a border: a view of t and of a constant, or of `val`, a tensor with one element.
#define POPOPS_PAD(VALUE)                                                                          \
  poplar::Tensor pad(poplar::Graph &graph, const poplar::Tensor &t,                                \
                     const std::vector<std::ptrdiff_t> &paddingLower,                              \
                     const std::vector<std::ptrdiff_t> &paddingUpper, VALUE,                       \
                     padding::MappingMethod mappingMethod = padding::MappingMethod::ZERO);         \
  poplar::Tensor pad(poplar::Graph &graph, const poplar::Tensor &t, std::ptrdiff_t paddingLower,   \
                     std::ptrdiff_t paddingUpper, unsigned dim, VALUE,                             \
                     padding::MappingMethod mappingMethod = padding::MappingMethod::ZERO);
POPOPS_PAD(float val = 0)
POPOPS_PAD(double val)
POPOPS_PAD(int val)
POPOPS_PAD(const poplar::Tensor &val)
#undef POPOPS_PAD

// t padded with its own elements: a view of t.
poplar::Tensor pad(const poplar::Tensor &t, const std::vector<std::ptrdiff_t> &paddingLower,
                   const std::vector<std::ptrdiff_t> &paddingUpper, padding::Type type);
poplar::Tensor pad(const poplar::Tensor &t, std::ptrdiff_t paddingLower,
                   std::ptrdiff_t paddingUpper, unsigned dim, padding::Type type);

} // namespace popops

#endif
