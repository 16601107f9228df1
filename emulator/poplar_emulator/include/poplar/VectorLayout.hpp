#ifndef poplar_VectorLayout_hpp
#define poplar_VectorLayout_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <string>

namespace poplar {

/// How the state of a vertex stores a pointer to a vector, and whether it stores the length.
enum class VectorLayout {
  NOT_APPLICABLE,
  NOT_VECTOR,
  SPAN,
  SHORT_SPAN,
  ONE_PTR,
  SCALED_PTR32,
  SCALED_PTR64,
  SCALED_PTR128,
  COMPACT_PTR,
};
enum class VectorListLayout { NOT_APPLICABLE, NOT_VECTOR, DELTAN, DELTANELEMENTS, COMPACT_DELTAN };

namespace layout {
using Vector = VectorLayout;
using VectorList = VectorListLayout;
} // namespace layout

std::string to_string(const VectorLayout &v);
std::string to_string(const VectorListLayout &v);

} // namespace poplar

#endif
