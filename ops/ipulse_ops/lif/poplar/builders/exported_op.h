// The symbols that the ops export to TensorFlow: builder, gradient and metadata.
#ifndef IPULSE_LIF_POPLAR_EXPORTED_OP_H
#define IPULSE_LIF_POPLAR_EXPORTED_OP_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "api_level.h"

namespace lif {

/// The metadata of them all: a function of its inputs, which may be laid out as they like.
inline void describe(std::vector<std::int64_t> &allocating,
                     std::map<std::int64_t, std::int64_t> &aliasing, bool &elementwise,
                     bool &stateless, bool &hashable) {
  allocating.clear();
  aliasing.clear();
  elementwise = false;
  stateless = true;
  hashable = true;
}

} // namespace lif

#define IPULSE_DESCRIBE                                                                            \
  IPULSE_NO_IDENTICAL_OUTPUTS;                                                                     \
  lif::describe(allocating_indices, input_to_output_tensor_aliasing, is_elementwise, is_stateless, \
                is_hashable)
#define IPULSE_METADATA(op)                                                                        \
  void op##_metadata(IPULSE_METADATA_PARAMETERS) {                                                 \
    static_cast<void>(num_inputs);                                                                 \
    IPULSE_DESCRIBE;                                                                               \
  }
#define IPULSE_BUILD(op)                                                                           \
  poplar::program::Program op(poplar::Graph &graph, const std::vector<poplar::Tensor> &inputs,     \
                              std::vector<poplar::Tensor> &outputs, const std::string &attributes, \
                              const std::string &)
#define IPULSE_GRADIENT(op)                                                                        \
  poplar::program::Program op##_grad(                                                              \
      poplar::Graph &graph, std::int64_t, const std::vector<poplar::Tensor> &gradients,            \
      const std::vector<poplar::Tensor> &inputs, const std::vector<poplar::Tensor> &results,       \
      std::vector<poplar::Tensor> &outputs, const std::string &attributes, const std::string &)

#endif
