#include "memory.h"

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <unordered_map>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, bytes) (static_cast<void>(memory))
#define ASAN_UNPOISON_MEMORY_REGION(memory, bytes) (static_cast<void>(memory))
#endif

namespace {

constexpr size_t ALIGNMENT = 64, PAGE = 4096, HUGE_PAGE = size_t(2) << 20;
constexpr size_t SMALL = size_t(1) << 16; // below this, malloc keeps its pages by itself
// Larger blocks are separate mappings. Smaller ones are cut from regions, where parts of a pass
// reuse each other's memory.
constexpr size_t LARGE = size_t(16) << 20, REGION = size_t(64) << 20;
// Pages that nobody has taken for this many takes go back to the system.
constexpr size_t STALE = 256;

struct Idle {
  void *memory;
  size_t given; // value of `takes` when it was given back
};

struct Region {
  // The value of `takes` at the last use of each huge page; 0: the page is not in memory.
  size_t used[REGION / HUGE_PAGE];
};

struct Store {
  std::mutex mutex;
  std::multimap<size_t, Idle> idle;        // large blocks by size, those given last behind
  std::unordered_map<void *, size_t> lent; // sizes of large blocks
  std::map<char *, Region> regions;        // by address
  std::map<char *, size_t> holes;          // bytes by address; of one region, never side by side
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
  return (bytes + step - 1) / step * step;
}

size_t in_pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

// Asks for huge pages: what is read here and there in a cache would otherwise spend its time on
// finding the pages. Only those that `bytes` fill: of the last one, a byte would take it all.
void ask_huge(void *memory, size_t bytes) {
#if defined(__linux__)
  madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#else
  static_cast<void>(memory), static_cast<void>(bytes);
#endif
}

void *map_aligned(size_t bytes) {
  void *memory = nullptr;
  return posix_memalign(&memory, HUGE_PAGE, bytes) == 0 ? memory : nullptr;
}

// Calls visit(page, used) for the huge pages that a block overlaps.
template <class Visit> void for_pages(Store &all, char *memory, size_t bytes, Visit visit) {
  auto region = std::prev(all.regions.upper_bound(memory));
  auto first = static_cast<size_t>(memory - region->first);
  for (size_t page = first / HUGE_PAGE; page * HUGE_PAGE < first + bytes; ++page)
    visit(region->first + page * HUGE_PAGE, region->second.used[page]);
}

void drop_stale(Store &all) {
#if defined(__linux__)
  for (const auto &hole : all.holes)
    for_pages(all, hole.first, hole.second, [&](char *page, size_t &used) {
      bool within = page >= hole.first && page + HUGE_PAGE <= hole.first + hole.second;
      if (!within || !used || all.takes - used <= STALE)
        return;
      madvise(page, HUGE_PAGE, MADV_DONTNEED);
      used = 0;
    });
#endif
  for (auto entry = all.idle.begin(); entry != all.idle.end();)
    if (all.takes - entry->second.given > STALE) {
      free(entry->second.memory);
      entry = all.idle.erase(entry);
    } else {
      ++entry;
    }
}

// Takes an idle block that is at most a quarter larger, else a new one.
void *take_large(Store &all, size_t bytes) {
  size_t size = size_class(bytes);
  auto found = all.idle.lower_bound(size);
  void *memory;
  if (found == all.idle.end() || found->first > size + size / 4) {
    memory = map_aligned(size);
    if (!memory)
      return nullptr;
  } else {
    size = found->first;
    found = std::prev(all.idle.upper_bound(size));
    memory = found->second.memory;
    all.idle.erase(found);
  }
  ask_huge(memory, bytes);
  all.lent[memory] = size;
  return memory;
}

void give_large(Store &all, void *memory) {
  auto lent = all.lent.find(memory);
  all.idle.insert({lent->second, {memory, all.takes}});
  all.lent.erase(lent);
}

// Takes the smallest hole that is large enough, so that few pages are in use.
void *take_from_region(Store &all, size_t size) {
  auto best = all.holes.end();
  for (auto hole = all.holes.begin(); hole != all.holes.end(); ++hole)
    if (hole->second >= size && (best == all.holes.end() || hole->second < best->second))
      best = hole;
  if (best == all.holes.end()) {
    char *region = static_cast<char *>(map_aligned(REGION));
    if (!region)
      return nullptr;
    ask_huge(region, REGION);
    ASAN_POISON_MEMORY_REGION(region, REGION);
    all.regions[region] = Region();
    best = all.holes.insert({region, REGION}).first;
  }
  char *memory = best->first;
  size_t rest = best->second - size;
  all.holes.erase(best);
  if (rest)
    all.holes[memory + size] = rest;
  for_pages(all, memory, size, [&](char *, size_t &used) { used = all.takes; });
  return memory;
}

void give_to_region(Store &all, char *memory, size_t size) {
  for_pages(all, memory, size, [&](char *, size_t &used) { used = all.takes; });
  auto after = all.holes.lower_bound(memory);
  if (after != all.holes.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == memory && !all.regions.count(memory)) {
      memory = before->first;
      size += before->second;
      all.holes.erase(before);
    }
  }
  if (after != all.holes.end() && memory + size == after->first &&
      !all.regions.count(after->first)) {
    size += after->second;
    all.holes.erase(after);
  }
  all.holes[memory] = size;
}

} // namespace

extern "C" void *lif_memory_take(size_t bytes) {
  if (bytes <= SMALL) {
    void *memory = nullptr;
    return posix_memalign(&memory, ALIGNMENT, bytes ? bytes : 1) == 0 ? memory : nullptr;
  }
  Store &all = store();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (++all.takes % STALE == 0)
    drop_stale(all);
  void *memory = bytes > LARGE ? take_large(all, bytes) : take_from_region(all, in_pages(bytes));
  if (memory)
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
  return memory;
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
  ASAN_POISON_MEMORY_REGION(memory, bytes);
  if (bytes > LARGE)
    give_large(all, memory);
  else
    give_to_region(all, static_cast<char *>(memory), in_pages(bytes));
}

extern "C" void lif_memory_settle(const void *memory, size_t bytes) {
  auto begin = reinterpret_cast<uintptr_t>(memory);
  uintptr_t first = (begin + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  uintptr_t last = (begin + bytes) / HUGE_PAGE * HUGE_PAGE;
  if (first >= last)
    return;
#if defined(__linux__)
  // MADV_COLLAPSE, which not every C library names; before Linux 6.1 it is refused.
  constexpr int COLLAPSE = 25;
  madvise(reinterpret_cast<void *>(first), last - first, COLLAPSE);
#endif
}
