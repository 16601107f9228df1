#include "access_check.h"

#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <sstream>

#include <poplar/TileState.hpp>

#include "vertex_watch.h"

namespace poplar::emulator {
namespace {

constexpr std::uintptr_t kNothingBelow = 0x10000; // no process has memory there

} // namespace

void AccessRanges::add(const field::FieldTable *field, const char *first, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  ranges.push_back({begin, begin + bytes, field});
}

void AccessRanges::sort(std::size_t begin, std::size_t end) {
  const auto at = [&](std::size_t i) { return ranges.begin() + static_cast<std::ptrdiff_t>(i); };
  std::sort(at(begin), at(end), [](const Range &a, const Range &b) { return a.begin < b.begin; });
}

AccessCheck &AccessCheck::ofThread() {
  static thread_local AccessCheck check;
  return check;
}

void AccessCheck::begin(const AccessRanges *ranges, std::size_t begin, std::size_t end,
                        bool hasWorkers) {
  of = ranges;
  first = hit = begin;
  last = end;
  workers = hasWorkers;
  words.clear();
}

std::string AccessCheck::nearest(std::uintptr_t address) const {
  const AccessRanges::Range *best = nullptr;
  std::uintptr_t least = 0;
  for (std::size_t i = first; i < last; ++i) {
    const AccessRanges::Range &range = of->ranges[i];
    if (!range.field)
      continue;
    const std::uintptr_t away = address < range.begin ? range.begin - address : address - range.end;
    if (!best || away < least)
      best = &range, least = away;
  }
  if (!best || least > (1u << 20))
    return "memory that it has no field in";
  return std::to_string(least) + " bytes " +
         (address < best->begin ? "before the begin" : "after the end") + " of field '" +
         best->field->name + "', which has " + std::to_string(best->end - best->begin) + " bytes";
}

bool AccessCheck::isOfThread(std::uintptr_t address, std::size_t bytes) {
  if (!stackEnd) {
    pthread_attr_t attributes;
    void *stack = nullptr;
    std::size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &stack, &size);
      pthread_attr_destroy(&attributes);
    }
    stackBegin = reinterpret_cast<std::uintptr_t>(stack);
    stackEnd = stackBegin + size;
  }
  const auto registers = reinterpret_cast<std::uintptr_t>(&popc_tile);
  return (address >= stackBegin && address + bytes <= stackEnd) ||
         (address >= registers && address + bytes <= registers + sizeof popc_tile);
}

bool AccessCheck::isStatic(std::uintptr_t address, std::size_t bytes, bool write) {
  const auto isLoaded = [&] {
    return std::any_of(segments.begin(), segments.end(), [&](const Segment &s) {
      return address >= s.begin && address + bytes <= s.end && (s.writable || !write);
    });
  };
  if (isLoaded())
    return true;
  segments.clear(); // a library may have been loaded since
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *to) {
        for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
          const auto &part = info->dlpi_phdr[i];
          const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
          if (part.p_type == PT_LOAD)
            static_cast<std::vector<Segment> *>(to)->push_back(
                {begin, begin + part.p_memsz, (part.p_flags & PF_W) != 0});
        }
        return 0;
      },
      &segments);
  return isLoaded();
}

void AccessCheck::checkWorkers(std::uintptr_t address, std::size_t bytes, bool write,
                               const AccessRanges::Range *range) {
  const auto own = static_cast<std::uint8_t>(1u << popc_tile.worker);
  const auto refuse = [&](std::uint8_t others, const char *does, const char *did) {
    std::ostringstream text;
    text << "worker " << popc_tile.worker << " " << does << " worker " << __builtin_ctz(others)
         << " " << did << ", in an order that is unknown: " << bytes << " bytes "
         << placeOf(address, range);
    VertexWatch::ofThread().end(text.str());
  };
  for (std::uintptr_t at = address; at < address + bytes; ++at) {
    Word &word = words[at / 4];
    const auto others = [&](std::uint8_t mask) { return static_cast<std::uint8_t>(mask & ~own); };
    std::uint8_t &read = word.read[at % 4], &written = word.written[at % 4];
    if (others(written))
      refuse(others(written), write ? "writes what" : "reads what", "wrote");
    if (!write) {
      read |= own;
      continue;
    }
    if (others(read))
      refuse(others(read), "writes what", "read");
    if (others(word.writers))
      refuse(others(word.writers), "writes into a word of 4 bytes that", "wrote into");
    word.writers |= own;
    written |= own;
  }
}

std::string AccessCheck::placeOf(std::uintptr_t address, const AccessRanges::Range *range) {
  if (!range)
    return "of static data";
  return range->field ? "at byte " + std::to_string(address - range->begin) + " of field '" +
                            range->field->name + "'"
                      : "of its state";
}

void AccessCheck::access(std::uintptr_t address, std::size_t bytes, bool write, bool typed) {
  if (!of)
    return;
  const auto contains = [&](std::size_t i) {
    return i < last && address >= of->ranges[i].begin && address + bytes <= of->ranges[i].end;
  };
  if (!contains(hit)) {
    const auto begin = of->ranges.begin();
    const auto next = std::upper_bound(
        begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last),
        address, [](std::uintptr_t a, const AccessRanges::Range &r) { return a < r.begin; });
    const auto at = static_cast<std::size_t>(next - begin);
    hit = at == first ? last : at - 1;
  }
  if (!contains(hit)) {
    const std::string did = (write ? "wrote " : "read ") + std::to_string(bytes) + " bytes";
    if (address < kNothingBelow)
      VertexWatch::ofThread().end(did + " at address " + std::to_string(address));
    if (isOfThread(address, bytes))
      return;
    if (!isStatic(address, bytes, write))
      VertexWatch::ofThread().end(did + ", " + nearest(address));
    if (workers)
      checkWorkers(address, bytes, write, nullptr);
    return;
  }
  const AccessRanges::Range &range = of->ranges[hit];
  if (range.field && write && range.field->direction == field::Direction::Input)
    VertexWatch::ofThread().end("wrote " + std::to_string(bytes) + " bytes " +
                                placeOf(address, &range) + ", which is an Input");
  const std::size_t align = std::min<std::size_t>(bytes, 8);
  // The address of a field is known by its alignment only.
  if (typed && range.field &&
      ((address - range.begin) % align != 0 || range.field->minAlign % align != 0))
    VertexWatch::ofThread().end((write ? "stored " : "loaded ") + std::to_string(bytes) +
                                " bytes " + placeOf(address, &range) +
                                ", whose address need not be a multiple of " +
                                std::to_string(align) + ": the field's alignment is " +
                                std::to_string(range.field->minAlign));
  if (workers)
    checkWorkers(address, bytes, write, &range);
}

} // namespace poplar::emulator

// The functions that compilers call before accesses with -fsanitize=thread. AddressSanitizer has
// some of them, too.
#ifndef __SANITIZE_ADDRESS__
namespace {

void accessed(void *address, std::size_t bytes, bool write, bool typed) {
  poplar::emulator::AccessCheck::ofThread().access(reinterpret_cast<std::uintptr_t>(address), bytes,
                                                   write, typed);
}

} // namespace

#define POPC_ACCESSES(BYTES)                                                                       \
  void __tsan_read##BYTES(void *address) { accessed(address, BYTES, false, true); }                \
  void __tsan_write##BYTES(void *address) { accessed(address, BYTES, true, true); }                \
  void __tsan_read_write##BYTES(void *address) {                                                   \
    accessed(address, BYTES, false, true);                                                         \
    accessed(address, BYTES, true, true);                                                          \
  }                                                                                                \
  void __tsan_unaligned_read##BYTES(void *address) { accessed(address, BYTES, false, false); }     \
  void __tsan_unaligned_write##BYTES(void *address) { accessed(address, BYTES, true, false); }
extern "C" {
POPC_ACCESSES(1)
POPC_ACCESSES(2)
POPC_ACCESSES(4)
POPC_ACCESSES(8)
POPC_ACCESSES(16)
void __tsan_read_range(void *address, std::size_t bytes) { accessed(address, bytes, false, false); }
void __tsan_write_range(void *address, std::size_t bytes) { accessed(address, bytes, true, false); }
void __tsan_vptr_read(void **address) { accessed(address, sizeof *address, false, false); }
void __tsan_vptr_update(void **address, void *) { accessed(address, sizeof *address, true, false); }
// The guards of static variables, and std::atomic.
std::uint8_t __tsan_atomic8_load(const volatile std::uint8_t *at, int) {
  return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}
void __tsan_atomic8_store(volatile std::uint8_t *at, std::uint8_t value, int) {
  __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
}
std::uint32_t __tsan_atomic32_load(const volatile std::uint32_t *at, int) {
  return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}
void __tsan_atomic32_store(volatile std::uint32_t *at, std::uint32_t value, int) {
  __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_init() {}
}
#undef POPC_ACCESSES
#endif
