// Vertices that multiply matrices.
#include <algorithm>
#include <vector>

#include <poplar/VertexIntrospector.hpp>

#include "codelets/conversion.h"
#include "poplibs/popops/elementwise/array_vertices.h"

namespace poplar::emulator {
namespace {

using field::Span;

/// The elements of rows from..., as floats.
std::vector<float> floatsOf(Type type, const Span &rows, std::size_t from, std::size_t count) {
  std::vector<float> values;
  for (std::size_t r = from; r < from + count; ++r) {
    const Span &one = row(rows, r);
    for (std::size_t i = 0; i < one.count; ++i)
      values.push_back(static_cast<float>(numberAt(type, one.first, i)));
  }
  return values;
}

/// out = the first `choice` of `rows` (by default one) times the others, which are columns or, if a
/// is not 0, rows of the right operand; accumulated in float.
bool matMulCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const Type type = typeOf(v.type), outType = typeOf(v.outType);
  const std::size_t numRows = std::max(1u, v.choice), depth = row(v.rows, 0).count;
  const std::vector<float> left = floatsOf(type, v.rows, 0, numRows),
                           right = floatsOf(type, v.rows, numRows, v.rows.count - numRows);
  const std::size_t columns = v.out.count / numRows;
  std::vector<float> sums(columns);
  for (std::size_t r = 0; r < numRows; ++r) {
    std::fill(sums.begin(), sums.end(), 0.f);
    const float *a = left.data() + r * depth;
    if (v.a != 0) {
      for (std::size_t k = 0; k < depth; ++k)
        for (std::size_t j = 0; j < columns; ++j)
          sums[j] += a[k] * right[k * columns + j];
    } else {
      for (std::size_t j = 0; j < columns; ++j)
        for (std::size_t k = 0; k < depth; ++k)
          sums[j] += a[k] * right[j * depth + k];
    }
    for (std::size_t j = 0; j < columns; ++j)
      storeNumber(outType, v.out.first, r * columns + j, static_cast<double>(sums[j]));
  }
  return true;
}

/// 64 multiply-accumulates a cycle in half, 16 in float: the published peaks of a Mk2 (250 and 62.5
/// TFLOP/s) by tiles and clock, from memory.
VertexPerfEstimate matMulCycles(const VertexIntrospector &v, const Target &target) {
  const FieldIntrospector rows = v.getFieldInfo("rows");
  const auto type = typeOf(v.getFieldInfo("type").getInitialValue<unsigned>(target));
  const std::uint64_t macs = rows.getSizeAtIndex(0) * v.getFieldInfo("out").size();
  return {ceilDivide(macs, type == HALF ? 64 : 16) + 100, 2 * macs};
}

} // namespace

std::vector<BuiltinVertex> matMulVertices() {
  return {arrayVertex("poplin", kMatMul, kRows | kOut, &matMulCompute, &matMulCycles)};
}

} // namespace poplar::emulator
