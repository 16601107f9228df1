// Memory that a pass writes only later, for what an earlier part of it holds.
#ifndef IPULSE_OPS_LIF_CPU_IDLE_MEMORY_H
#define IPULSE_OPS_LIF_CPU_IDLE_MEMORY_H

#include <memory>
#include <vector>

#include "support/memory.h"

namespace lif {

class IdleMemory {
public:
  void add(float *floats, int64_t count) {
    if (floats)
      parts_.push_back({floats, count});
  }

  // Null if there is no room for so many.
  float *take(int64_t count) {
    for (Part &part : parts_)
      if (part.count >= count) {
        float *taken = part.floats;
        part = {taken + count, part.count - count};
        return taken;
      }
    return nullptr;
  }

private:
  struct Part {
    float *floats;
    int64_t count;
  };
  std::vector<Part> parts_;
};

// Blocks of one size, as many of them in idle memory as it has room for.
class IdleBlocks {
public:
  IdleBlocks(int64_t blocks, int64_t floats, IdleMemory &idle) {
    for (float *block;
         static_cast<int64_t>(blocks_.size()) < blocks && (block = idle.take(floats));)
      blocks_.push_back(block);
    int64_t rest = blocks - static_cast<int64_t>(blocks_.size());
    own_.reset(new Buffer<float>(rest * floats));
    for (int64_t i = 0; i < rest; ++i)
      blocks_.push_back(own_->get() + i * floats);
  }

  float *operator[](int64_t block) const { return blocks_[static_cast<size_t>(block)]; }

private:
  std::vector<float *> blocks_;
  std::unique_ptr<Buffer<float>> own_;
};

} // namespace lif

#endif
