// Tensors in the memory of memory.h, because a page fault costs more than a kernel's writes to the
// page.
#ifndef IPULSE_OPS_LIF_CPU_KEPT_TENSOR_OP_H
#define IPULSE_OPS_LIF_CPU_KEPT_TENSOR_OP_H

#include "shared_op.h"

namespace ipulse_lif {

// Allocates tensors that keep their pages when they are freed.
class KeepingAllocator : public Allocator {
public:
  std::string Name() override { return "ipulse"; }
  void *AllocateRaw(size_t, size_t bytes) override {
    char *memory = static_cast<char *>(lif_memory_take(bytes + HEADER));
    if (!memory)
      return nullptr;
    memcpy(memory, &bytes, sizeof bytes);
    return memory + HEADER;
  }
  void DeallocateRaw(void *pointer) override {
    char *memory = static_cast<char *>(pointer) - HEADER;
    size_t bytes;
    memcpy(&bytes, memory, sizeof bytes);
    lif_memory_give(memory, bytes + HEADER);
  }

private:
  static constexpr size_t HEADER = 64; // keeps the alignment
};

inline Allocator *keeping_allocator() {
  // Never destroyed: tensors may outlive this library's static objects.
  static Allocator *allocator = new KeepingAllocator;
  return allocator;
}

// Makes an output of floats; null if there is no memory.
inline float *kept_output(OpOutputList *list, int index, const TensorShape &shape) {
  Tensor tensor(keeping_allocator(), tensorflow::DT_FLOAT, shape);
  if (!tensor.IsInitialized() && shape.num_elements())
    return nullptr;
  list->set(index, tensor);
  return floats_of(&tensor);
}

} // namespace ipulse_lif

#endif
