// pool_op on a CPU. Without this file the op runs its reference.
//
// The functions return nullptr, or the message of an error that ends the job.
#include <algorithm>
#include <cmath>
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

/// Returns the weighted sum of a group, minus the threshold.
float above(const float *spikes, const float *gain, std::int64_t width) {
  float drive = spikes[0] * gain[0];
  for (std::int64_t k = 1; k < width; ++k)
    drive += spikes[k] * gain[k];
  return drive - 0.5f;
}

} // namespace

/// `inputs` are the spikes, then the weights in the order of op.json.
extern "C" const char *forward(const Tensor *inputs, const Tensor *outputs,
                               const char *attributes) {
  const std::int64_t width = whole(attributes, "\"width\":");
  const std::int64_t senders = inputs[0].shape[2];
  if (width < 1 || senders % width)
    return "the senders cannot be divided by the width";
  const float *spikes = static_cast<const float *>(inputs[0].data);
  const float *gain = static_cast<const float *>(inputs[1].data);
  float *pooled = static_cast<float *>(outputs[0].data);
  const std::int64_t rows = inputs[0].shape[0] * inputs[0].shape[1];
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t first = 0; first < senders; first += width)
      *pooled++ = above(spikes + row * senders + first, gain + first, width) >= 0.0f;
  return nullptr;
}

/// `results` are the gradients of the inputs and weights that op.json lists, in its order.
extern "C" const char *backward(const Tensor *gradients, const Tensor *inputs,
                                const Tensor *outputs, const Tensor *results,
                                const char *attributes) {
  (void)outputs;
  const std::int64_t width = whole(attributes, "\"width\":");
  const std::int64_t senders = inputs[0].shape[2];
  const float *gradient = static_cast<const float *>(gradients[0].data);
  const float *spikes = static_cast<const float *>(inputs[0].data);
  const float *gain = static_cast<const float *>(inputs[1].data);
  float *bySpikes = static_cast<float *>(results[0].data);
  float *byGain = static_cast<float *>(results[1].data);
  std::fill(byGain, byGain + senders, 0.0f);
  const std::int64_t rows = inputs[0].shape[0] * inputs[0].shape[1];
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t first = 0; first < senders; first += width) {
      const std::int64_t at = row * senders + first;
      const float distance = 1.0f + std::fabs(above(spikes + at, gain + first, width));
      const float byDrive = *gradient++ / (distance * distance); // a surrogate
      for (std::int64_t k = 0; k < width; ++k) {
        bySpikes[at + k] = byDrive * gain[first + k];
        byGain[first + k] += byDrive * spikes[at + k];
      }
    }
  }
  return nullptr;
}
