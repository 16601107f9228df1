#ifndef IPULSE_EMULATOR_PROMISES_H
#define IPULSE_EMULATOR_PROMISES_H

#include <string>
#include <vector>

#include <poplar/Graph.hpp>

#include "op_library.h"

namespace custom_op {

/// What an op's metadata promises, held against what it built: TensorFlow lays tensors out by these
/// promises and checks none of them. `op` names the op in errors.
///
/// Raises std::runtime_error for an index out of range; for is_elementwise where output 0 has not
/// the shape and the tiles of the first input; for a declared alias where the output is not the
/// input itself.
void checkPromises(const poplar::Graph &graph, const std::string &op,
                   const OpLibrary::Metadata &promised, const std::vector<poplar::Tensor> &inputs,
                   const std::vector<poplar::Tensor> &outputs);

} // namespace custom_op

#endif
