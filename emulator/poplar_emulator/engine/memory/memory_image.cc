#include "memory_image.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace poplar::emulator {
namespace {

constexpr std::size_t kAlignment = 64; // more than any field needs

/// Copies one element at a time; the size is a compile-time constant, so that this is a move
/// instruction.
template <std::size_t Size>
void gatherRun(const char *from, std::ptrdiff_t step, std::size_t n, char *to) {
  for (std::size_t i = 0; i < n; ++i, from += step, to += Size)
    std::memcpy(to, from, Size);
}
template <std::size_t Size>
void scatterRun(char *to, std::ptrdiff_t step, std::size_t n, const char *from) {
  for (std::size_t i = 0; i < n; ++i, to += step, from += Size)
    std::memcpy(to, from, Size);
}

} // namespace

void MemoryImage::Free::operator()(char *p) const { std::free(p); }

MemoryImage::MemoryImage(const GraphState &graph, std::uint32_t replica, bool poison)
    : poisons(poison) {
  for (const Variable &variable : graph.variables) {
    const std::size_t size = sizeOf(variable.type);
    const std::size_t n = std::max<std::size_t>(variable.elements * size, 1);
    auto *memory = static_cast<char *>(
        std::aligned_alloc(kAlignment, (n + kAlignment - 1) / kAlignment * kAlignment));
    if (!memory)
      throw std::bad_alloc();
    bytes.emplace_back(memory);
    sizes.push_back(size);
    types.push_back(variable.type);
    if (variable.initial.empty() && poisons)
      poisonElements(variable.type, memory, variable.elements);
    else if (variable.initial.empty())
      std::memset(memory, 0, n);
    else
      std::memcpy(memory, variable.initial.data(), variable.initial.size());
    if (variable.replicaIndex)
      std::memcpy(memory, &replica, sizeof replica);
  }
}

void MemoryImage::gather(const View &view, void *out) {
  char *to = static_cast<char *>(out);
  for (const Run &run : view.runs()) {
    const std::size_t size = sizes[run.variable];
    const char *from = at(run.variable, run.start);
    const std::ptrdiff_t step = run.stride * static_cast<std::ptrdiff_t>(size);
    if (run.stride == 1)
      std::memcpy(to, from, run.count * size);
    else if (size == 4)
      gatherRun<4>(from, step, run.count, to);
    else if (size == 2)
      gatherRun<2>(from, step, run.count, to);
    else if (size == 8)
      gatherRun<8>(from, step, run.count, to);
    else
      gatherRun<1>(from, step, run.count, to);
    to += run.count * size;
  }
}

void MemoryImage::scatter(const View &view, const void *in) {
  const char *from = static_cast<const char *>(in);
  for (const Run &run : view.runs()) {
    const std::size_t size = sizes[run.variable];
    char *to = at(run.variable, run.start);
    const std::ptrdiff_t step = run.stride * static_cast<std::ptrdiff_t>(size);
    if (run.stride == 1)
      std::memcpy(to, from, run.count * size);
    else if (size == 4)
      scatterRun<4>(to, step, run.count, from);
    else if (size == 2)
      scatterRun<2>(to, step, run.count, from);
    else if (size == 8)
      scatterRun<8>(to, step, run.count, from);
    else
      scatterRun<1>(to, step, run.count, from);
    from += run.count * size;
  }
}

void MemoryImage::copy(const View &from, const View &to) {
  if (from.runs().empty())
    return;
  if (from.runs().size() == 1 && to.runs().size() == 1 && from.runs()[0].stride == 1 &&
      to.runs()[0].stride == 1) {
    const Run &a = from.runs()[0], &b = to.runs()[0];
    std::memmove(at(b.variable, b.start), at(a.variable, a.start), a.count * sizes[a.variable]);
    return;
  }
  between.resize(from.size() * sizes[from.runs()[0].variable]);
  gather(from, between.data());
  scatter(to, between.data());
}

void MemoryImage::poison(const View &view) {
  if (!poisons)
    return;
  for (const Run &run : view.runs())
    for (std::size_t i = 0; i < (run.stride == 1 ? 1 : run.count); ++i)
      poisonElements(types[run.variable], at(run.variable, run.at(i)),
                     run.stride == 1 ? run.count : 1);
}

void poisonElements(Type type, void *first, std::size_t n) {
  if (type == FLOAT) {
    const std::uint32_t nan = 0x7fc0dead;
    auto *p = static_cast<char *>(first);
    for (std::size_t i = 0; i < n; ++i)
      std::memcpy(p + 4 * i, &nan, 4);
  } else if (type == HALF) {
    const std::uint16_t nan = 0x7ead;
    auto *p = static_cast<char *>(first);
    for (std::size_t i = 0; i < n; ++i)
      std::memcpy(p + 2 * i, &nan, 2);
  } else if (type == BOOL) {
    std::memset(first, 1, n); // a bool has no third value
  } else {
    std::memset(first, 0xa5, n * sizeOf(type));
  }
}

} // namespace poplar::emulator
