#include "field_layout.h"

#include <algorithm>

namespace poplar::emulator {
namespace {

using field::FieldTable;
using field::Shape;

/// PopLibs 3.3 cycle estimators, per row; of the DELTAN layouts one is published, DELTANELEMENTS.
std::uint64_t unpackBundles(VectorLayout layout) {
  switch (layout) {
  case VectorLayout::SHORT_SPAN:
  case VectorLayout::SCALED_PTR32:
    return 2;
  case VectorLayout::SCALED_PTR64:
  case VectorLayout::SCALED_PTR128:
    return 1;
  default:
    return 0;
  }
}

} // namespace

std::uint64_t pointerBytes(VectorLayout layout) {
  switch (layout) {
  case VectorLayout::SPAN:
    return 8;
  case VectorLayout::SCALED_PTR32:
  case VectorLayout::SCALED_PTR64:
  case VectorLayout::SCALED_PTR128:
  case VectorLayout::COMPACT_PTR:
    return 2; // from memory: scaled to 16 bits
  default:
    return 4; // an address, or an address with 11 bits of length
  }
}

std::uint64_t stateBytes(const VertexInstance &vertex) {
  std::uint64_t bytes = 0;
  for (unsigned f = 0; f < vertex.type->table->numFields; ++f) {
    const FieldTable &table = vertex.type->table->fields[f];
    const Type element(table.element);
    const bool edge = table.direction != field::Direction::None;
    std::uint64_t size = 4;
    if (table.shape == Shape::Vector)
      size = pointerBytes(table.layout);
    else if (table.shape == Shape::VectorOfVectors)
      size = table.listLayout == VectorListLayout::NOT_VECTOR ? pointerBytes(table.outerLayout) : 8;
    else if (!edge)
      size = table.element == Type::Id::None ? 4 : sizeOf(element);
    bytes = (bytes + std::min<std::uint64_t>(size, 4) - 1) / std::min<std::uint64_t>(size, 4) *
                std::min<std::uint64_t>(size, 4) +
            size;
  }
  return (bytes + 3) / 4 * 4;
}

std::uint64_t unpackBundles(const Machine &machine, const VertexInstance &vertex) {
  std::uint64_t bundles = 0;
  for (unsigned f = 0; f < vertex.type->table->numFields; ++f) {
    const FieldTable &table = vertex.type->table->fields[f];
    if (table.shape == Shape::Scalar)
      continue;
    const bool list = table.listLayout != VectorListLayout::NOT_VECTOR;
    bundles += (list ? machine.listRowBundles : unpackBundles(table.layout)) *
               std::max<std::uint64_t>(1, vertex.fields[f].rows.size());
    if (table.shape == Shape::VectorOfVectors && !list)
      bundles += unpackBundles(table.outerLayout);
  }
  return bundles;
}

} // namespace poplar::emulator
