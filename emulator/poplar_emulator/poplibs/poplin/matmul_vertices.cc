// Vertices that multiply matrices.
#include <poplar/VertexIntrospector.hpp>

#include "codelets/conversion.h"
#include "poplibs/popops/elementwise/array_vertices.h"

namespace poplar::emulator {
namespace {

using field::Span;

/// out = row 0 of `rows` times the other rows, one element each, accumulated in float.
bool matMulCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const Type type = typeOf(v.type), outType = typeOf(v.outType);
  const Span &a = row(v.rows, 0);
  for (std::size_t j = 0; j < v.out.count; ++j) {
    const Span &b = row(v.rows, j + 1);
    float sum = 0;
    for (std::size_t k = 0; k < a.count; ++k)
      sum += static_cast<float>(numberAt(type, a.first, k)) *
             static_cast<float>(numberAt(type, b.first, k));
    storeNumber(outType, v.out.first, j, static_cast<double>(sum));
  }
  return true;
}

/// 64 multiply-accumulates a cycle in half, 16 in float: the published peaks of a Mk2 (250 and 62.5
/// TFLOP/s) by tiles and clock, from memory.
VertexPerfEstimate matMulCycles(const VertexIntrospector &v, const Target &target) {
  const FieldIntrospector rows = v.getFieldInfo("rows");
  const auto type = typeOf(v.getFieldInfo("type").getInitialValue<unsigned>(target));
  const std::uint64_t macs = rows.getSizeAtIndex(0) * (rows.size() - 1);
  return {ceilDivide(macs, type == HALF ? 64 : 16) + 100, 2 * macs};
}

} // namespace

std::vector<BuiltinVertex> matMulVertices() {
  return {arrayVertex("poplin", kMatMul, kRows | kOut, &matMulCompute, &matMulCycles)};
}

} // namespace poplar::emulator
