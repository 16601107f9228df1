// pool_op on a CPU. Without this file the op runs its reference.
//
// The functions return nullptr, or the message of an error that ends the job.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

/// A tensor in row-major order; op.json has its type.
struct Tensor {
  void *data;
  const std::int64_t *shape;
  std::int64_t rank;
};

namespace {

/// Returns the whole number of an attribute; the attributes are JSON without spaces.
std::int64_t whole(const char *attributes, const char *key) {
  const char *found = std::strstr(attributes, key);
  return found ? std::atoll(found + std::strlen(key)) : 0;
}

/// Returns the number of elements.
std::int64_t elements(const Tensor &tensor) {
  std::int64_t count = 1;
  for (std::int64_t axis = 0; axis < tensor.rank; ++axis)
    count *= tensor.shape[axis];
  return count;
}

} // namespace

extern "C" const char *forward(const Tensor *inputs, const Tensor *outputs,
                               const char *attributes) {
  const std::int64_t width = whole(attributes, "\"width\":");
  if (width < 1 || inputs[0].shape[2] % width)
    return "the senders cannot be divided by the width";
  const float *spikes = static_cast<const float *>(inputs[0].data);
  float *pooled = static_cast<float *>(outputs[0].data);
  const std::int64_t count = elements(outputs[0]);
  for (std::int64_t i = 0; i < count; ++i)
    pooled[i] = *std::max_element(spikes + i * width, spikes + (i + 1) * width);
  return nullptr;
}

/// `results` are the gradients of the inputs that op.json lists, in its order.
extern "C" const char *backward(const Tensor *gradients, const Tensor *inputs,
                                const Tensor *outputs, const Tensor *results,
                                const char *attributes) {
  const std::int64_t width = whole(attributes, "\"width\":");
  const float *gradient = static_cast<const float *>(gradients[0].data);
  const float *spikes = static_cast<const float *>(inputs[0].data);
  float *result = static_cast<float *>(results[0].data);
  const std::int64_t count = elements(outputs[0]);
  std::fill(result, result + elements(results[0]), 0.0f);
  for (std::int64_t i = 0; i < count; ++i) {
    const float *group = spikes + i * width;
    result[std::max_element(group, group + width) - spikes] = gradient[i];
  }
  return nullptr;
}
