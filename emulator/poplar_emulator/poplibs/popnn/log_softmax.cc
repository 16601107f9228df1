#include <popnn/LogSoftmax.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <poputil/Util.hpp>
#include <poputil/exceptions.hpp>

namespace popnn {

using namespace popops::expr;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;

void logSoftmaxInPlace(Graph &graph, Tensor t, Sequence &prog,
                       const poplar::DebugContext &debugContext) {
  const poplar::DebugContext dc{debugContext, "logSoftmax"};
  if (t.rank() == 0)
    throw poputil::poplibs_error("a softmax of a scalar");
  const std::size_t last = t.rank() - 1;
  const auto over = [&](const Tensor &of, popops::Operation op) {
    return popops::reduce(graph, of, {last}, op, prog, dc).expand({last});
  };
  popops::mapInPlace(graph, _1 - _2, {t, over(t, popops::Operation::MAX)}, prog, dc);
  const Tensor exponentials = popops::exp(graph, t, prog, dc);
  popops::mapInPlace(graph, _1 - Log(_2), {t, over(exponentials, popops::Operation::ADD)}, prog,
                     dc);
}

Tensor logSoftmax(Graph &graph, Tensor t, Sequence &prog,
                  const poplar::DebugContext &debugContext) {
  const Tensor copy = poputil::duplicate(graph, t, prog, {debugContext, "logSoftmax"});
  logSoftmaxInPlace(graph, copy, prog, debugContext);
  return copy;
}

} // namespace popnn
