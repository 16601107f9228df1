#ifndef popops_ElementWiseUtil_hpp
#define popops_ElementWiseUtil_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// Creates the result of an operation on inputs of one shape, laid out like the first that is
/// distributed.
poplar::Tensor createOutputForElementWiseOp(poplar::Graph &graph,
                                            const std::vector<poplar::Tensor> &inputs,
                                            const poplar::Type &outputType,
                                            const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
