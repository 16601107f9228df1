#include "memory.h"

#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace {

constexpr size_t ALIGNMENT = 64, HUGE_PAGE = size_t(2) << 20;
constexpr size_t SMALL = size_t(1) << 16; // below this, malloc keeps its pages by itself
// From here on a block lies in huge pages: what is read here and there in a cache would otherwise
// spend its time on finding the pages.
constexpr size_t LARGE = HUGE_PAGE / 4;
// Blocks that nobody has taken for this many takes of large blocks are unmapped.
constexpr size_t STALE = 256;

struct Idle {
  void *memory;
  size_t given; // value of `takes` when it was given back
};

struct Store {
  std::mutex mutex;
  std::unordered_map<size_t, std::vector<Idle>> idle; // by size class
  size_t takes = 0;
};

Store &store() {
  // Never destroyed: TensorFlow may give a tensor's memory back while the process ends.
  static Store *store = new Store;
  return *store;
}

// Sizes in steps of an eighth of their power of two, so that counts of spikes that differ a little
// from call to call find the same block.
size_t size_class(size_t bytes) {
  size_t step = HUGE_PAGE;
  while (step * 16 < bytes)
    step *= 2;
  return bytes < LARGE ? (bytes + SMALL - 1) / SMALL * SMALL : (bytes + step - 1) / step * step;
}

void *allocate(size_t bytes) {
  void *memory = nullptr;
  size_t alignment = bytes < LARGE ? ALIGNMENT : HUGE_PAGE;
  if (posix_memalign(&memory, alignment, bytes) != 0)
    return nullptr;
#if defined(__linux__)
  if (bytes >= LARGE)
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

void drop_stale(Store &all) {
  for (auto entry = all.idle.begin(); entry != all.idle.end();) {
    auto &blocks = entry->second;
    size_t kept = 0;
    for (const Idle &block : blocks)
      if (all.takes - block.given > STALE)
        free(block.memory);
      else
        blocks[kept++] = block;
    blocks.resize(kept);
    entry = blocks.empty() ? all.idle.erase(entry) : std::next(entry);
  }
}

} // namespace

extern "C" void *lif_memory_take(size_t bytes) {
  if (bytes <= SMALL)
    return allocate(bytes ? bytes : 1);
  size_t size = size_class(bytes);
  Store &all = store();
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    if (++all.takes % STALE == 0)
      drop_stale(all);
    auto found = all.idle.find(size);
    if (found != all.idle.end() && !found->second.empty()) {
      void *memory = found->second.back().memory;
      found->second.pop_back();
      return memory;
    }
  }
  return allocate(size);
}

extern "C" void lif_memory_give(void *memory, size_t bytes) {
  if (!memory)
    return;
  if (bytes <= SMALL) {
    free(memory);
    return;
  }
  Store &all = store();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.idle[size_class(bytes)].push_back({memory, all.takes});
}
