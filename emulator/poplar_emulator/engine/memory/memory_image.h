#ifndef IPULSE_EMULATOR_MEMORY_IMAGE_H
#define IPULSE_EMULATOR_MEMORY_IMAGE_H

#include <memory>
#include <vector>

#include "graph/graph_state.h"

namespace poplar::emulator {

/// The bytes of every variable of a replica of a loaded graph.
class MemoryImage {
public:
  /// poison: begin with the pattern of poisonElements where a variable has no initial value,
  /// instead of zeros, so that a read of what nothing wrote is seen.
  MemoryImage(const GraphState &graph, std::uint32_t replica, bool poison);

  char *at(unsigned variable, std::size_t element) {
    return bytes[variable].get() + element * sizes[variable];
  }
  /// Copies the elements of a view to `out`, contiguously, and back.
  void gather(const View &view, void *out);
  void scatter(const View &view, const void *in);
  /// Copies one view to another as if the whole source were read first.
  void copy(const View &from, const View &to);
  /// Overwrites the elements with values on which no program can rely, if the image poisons.
  void poison(const View &view);

private:
  const bool poisons;
  struct Free {
    void operator()(char *p) const;
  };
  std::vector<std::unique_ptr<char[], Free>> bytes;
  std::vector<std::size_t> sizes; // of an element
  std::vector<Type> types;
  std::vector<char> between;
};

/// Fills n elements with a conspicuous pattern: NaN, or an implausible integer.
void poisonElements(Type type, void *first, std::size_t n);

} // namespace poplar::emulator

#endif
