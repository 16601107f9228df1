// TensorFlow's interface for custom ops changes with the SDK and is not negotiated at run time:
// level 4 is SDK 2.0 to 2.2, level 5 is SDK 2.3 to 3.4. Build with -DIPU_OP_API_LEVEL=4 for the
// former.
#ifndef IPULSE_LIF_POPLAR_API_LEVEL_H
#define IPULSE_LIF_POPLAR_API_LEVEL_H

#if defined(__clang__)
// TensorFlow's contract: functions of C's names that return Poplar's classes.
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif

#include <cstdint>

#ifndef IPU_OP_API_LEVEL
#define IPU_OP_API_LEVEL 5
#endif

#if IPU_OP_API_LEVEL == 5
#define IPULSE_METADATA_PARAMETERS                                                                 \
  std::vector<std::int64_t> &allocating_indices,                                                   \
      std::vector<std::int64_t> &replica_identical_output_indices,                                 \
      std::map<std::int64_t, std::int64_t> &input_to_output_tensor_aliasing, bool &is_elementwise, \
      bool &is_stateless, bool &is_hashable, std::uint32_t num_inputs
#define IPULSE_NO_IDENTICAL_OUTPUTS replica_identical_output_indices.clear()
#elif IPU_OP_API_LEVEL == 4
#define IPULSE_METADATA_PARAMETERS                                                                 \
  std::vector<std::int64_t> &allocating_indices,                                                   \
      std::map<std::int64_t, std::int64_t> &input_to_output_tensor_aliasing, bool &is_elementwise, \
      bool &is_stateless, bool &is_hashable, std::uint32_t num_inputs
#define IPULSE_NO_IDENTICAL_OUTPUTS static_cast<void>(0)
#else
#error "IPU_OP_API_LEVEL must be 4 (SDK 2.0 to 2.2) or 5 (SDK 2.3 to 3.4)"
#endif

extern "C" {
extern std::int32_t custom_op_api_level;
}

#endif
