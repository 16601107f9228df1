#include <popops/ElementWise.hpp>
#include <popops/ScaledAdd.hpp>

namespace popops {

using namespace expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Sequence;

void scaledAddTo(Graph &graph, Tensor A, Tensor B, float scaleB, Sequence &prog,
                 const DebugContext &debugContext, const OptionFlags &options) {
  mapInPlace(graph, _1 + _2 * scaleB, {A, B}, prog, debugContext, options);
}
void scaledAddTo(Graph &graph, Tensor A, Tensor B, Tensor scaleB, Sequence &prog,
                 const DebugContext &debugContext, const OptionFlags &options) {
  mapInPlace(graph, _1 + _2 * Cast(_3, A.elementType()), {A, B, scaleB}, prog, debugContext,
             options);
}
void scaledAddTo(Graph &graph, Tensor A, float scaleA, Tensor B, float scaleB, Sequence &prog,
                 const DebugContext &debugContext, const OptionFlags &options) {
  mapInPlace(graph, _1 * scaleA + _2 * scaleB, {A, B}, prog, debugContext, options);
}
void scaledAddTo(Graph &graph, Tensor A, Tensor scaleA, Tensor B, Tensor scaleB, Sequence &prog,
                 const DebugContext &debugContext, const OptionFlags &options) {
  const poplar::Type type = A.elementType();
  mapInPlace(graph, _1 * Cast(_2, type) + _3 * Cast(_4, type), {A, scaleA, B, scaleB}, prog,
             debugContext, options);
}
void scaledSubtractFrom(Graph &graph, Tensor A, Tensor B, float scaleB, Sequence &prog,
                        const DebugContext &debugContext, const OptionFlags &options) {
  scaledAddTo(graph, A, B, -scaleB, prog, debugContext, options);
}
void scaledSubtractFrom(Graph &graph, Tensor A, Tensor B, Tensor scaleB, Sequence &prog,
                        const DebugContext &debugContext, const OptionFlags &options) {
  mapInPlace(graph, _1 - _2 * Cast(_3, A.elementType()), {A, B, scaleB}, prog, debugContext,
             options);
}
void scaledAddTo(Graph &graph, Tensor A, float scaleA, Tensor B, float scaleB, Sequence &prog,
                 const ScaledAddSpecialisation speciality, const DebugContext &debugContext,
                 const OptionFlags &options) {
  const float ofA = speciality == ScaledAddSpecialisation::DEFAULT ? scaleA : 1 - scaleA;
  scaledAddTo(graph, A, ofA, B, scaleB, prog, debugContext, options);
}
void scaledAddTo(Graph &graph, Tensor A, Tensor scaleA, Tensor B, Tensor scaleB, Sequence &prog,
                 const ScaledAddSpecialisation speciality, const DebugContext &debugContext,
                 const OptionFlags &options) {
  if (speciality == ScaledAddSpecialisation::DEFAULT)
    return scaledAddTo(graph, A, scaleA, B, scaleB, prog, debugContext, options);
  const poplar::Type type = A.elementType();
  mapInPlace(graph, _1 - _1 * Cast(_2, type) + _3 * Cast(_4, type), {A, scaleA, B, scaleB}, prog,
             debugContext, options);
}
void scaledSubtractFrom(Graph &graph, Tensor A, float scaleA, Tensor B, float scaleB,
                        Sequence &prog, const DebugContext &debugContext,
                        const OptionFlags &options) {
  scaledAddTo(graph, A, scaleA, B, -scaleB, prog, debugContext, options);
}
void scaledSubtractFrom(Graph &graph, Tensor A, Tensor scaleA, Tensor B, Tensor scaleB,
                        Sequence &prog, const DebugContext &debugContext,
                        const OptionFlags &options) {
  const poplar::Type type = A.elementType();
  mapInPlace(graph, _1 * Cast(_2, type) - _3 * Cast(_4, type), {A, scaleA, B, scaleB}, prog,
             debugContext, options);
}

} // namespace popops
