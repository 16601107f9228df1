#ifndef IPULSE_EMULATOR_METADATA_CHECKS_H
#define IPULSE_EMULATOR_METADATA_CHECKS_H

#include <string>
#include <vector>

#include <poplar/Graph.hpp>

#include "op_library.h"

namespace custom_op {

/// Checks an op's metadata against the tensors it built, which TensorFlow does not. `op` names the
/// op in errors. Raises std::runtime_error for an index out of range, and for a declared alias if
/// the output is not the input itself. Warns if is_elementwise does not hold, because output 0
/// differs from the first input in shape or tiles: for TensorFlow it is a hint for layouts.
void checkMetadata(const poplar::Graph &graph, const std::string &op,
                   const OpLibrary::Metadata &promised, const std::vector<poplar::Tensor> &inputs,
                   const std::vector<poplar::Tensor> &outputs);

} // namespace custom_op

#endif
