// Vertices that sort.
#include <algorithm>
#include <cmath>
#include <vector>

#include <poplar/VertexIntrospector.hpp>

#include "codelets/conversion.h"
#include "poplibs/popops/elementwise/array_vertices.h"

namespace poplar::emulator {
namespace {

using field::Span;

/// The first elements of row 0 in their order, or their indices, or the elements of row 1 that go
/// with them. `choice`: bit 0 the largest, bits 1 and 2 the SortOrder, bit 3 indices, bit 4 row 1.
bool topKCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const Type type = typeOf(v.type);
  const Span &values = row(v.rows, 0);
  const bool largest = v.choice & 1, ascending = ((v.choice >> 1) & 3) == 1;
  const auto at = [&](std::uint32_t i) { return numberAt(type, values.first, i); };
  std::vector<std::uint32_t> order(values.count);
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<std::uint32_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return largest ? at(a) > at(b) : at(a) < at(b);
  });
  order.resize(v.out.count);
  if (ascending == largest)
    std::reverse(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i)
    storeNumber(typeOf(v.outType), v.out.first, i,
                v.choice & 8    ? order[i]
                : v.choice & 16 ? numberAt(typeOf(v.outType), row(v.rows, 1).first, order[i])
                                : at(order[i]));
  return true;
}

/// A bitonic network's comparisons, n log2(n)^2 / 4, at the published 14 cycles for 4: inferred.
VertexPerfEstimate topKCycles(const VertexIntrospector &v, const Target &target) {
  const auto n = static_cast<double>(v.getFieldInfo("rows").getSizeAtIndex(0));
  const double steps = std::ceil(std::log2(std::max(n, 2.0)));
  const unsigned workers = target.getNumWorkerContexts();
  return workers * 58 + 11 + static_cast<std::uint64_t>(n * steps * steps / 4 * 14 / 4);
}

} // namespace

std::vector<BuiltinVertex> sortVertices() {
  return {arrayVertex("popops", kTopK, kRows | kOut, &topKCompute, &topKCycles)};
}

} // namespace poplar::emulator
