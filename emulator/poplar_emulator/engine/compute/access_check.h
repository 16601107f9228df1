#ifndef IPULSE_EMULATOR_ACCESS_CHECK_H
#define IPULSE_EMULATOR_ACCESS_CHECK_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <poplar/VertexTable.hpp>

namespace poplar::emulator {

/// The memory that each vertex of a compute set may access.
class AccessRanges {
public:
  /// Adds a row of a field, or with null memory of the vertex itself: its state, its lists.
  void add(const field::FieldTable *field, const char *first, std::size_t bytes);
  std::size_t size() const { return ranges.size(); }
  /// Sorts the ranges of one vertex, [begin, end).
  void sort(std::size_t begin, std::size_t end);

private:
  friend class AccessCheck;
  struct Range {
    std::uintptr_t begin, end;
    const field::FieldTable *field;
  };
  std::vector<Range> ranges;
};

/// Checks the accesses to memory of one compute() after the other in this thread. Codelets that
/// popc compiled under $IPULSE_EMULATOR_SANITIZE call it before each of them.
class AccessCheck {
public:
  /// Returns that of this thread.
  static AccessCheck &ofThread();
  /// Begins a vertex with the ranges [begin, end), or ends the check with null.
  void begin(const AccessRanges *of, std::size_t begin, std::size_t end, bool hasWorkers);
  /// Called before an access. Ends compute() (VertexWatch) if a tile would fault, or its result
  /// would depend on the order of workers. typed: a load or store of one instruction.
  void access(std::uintptr_t address, std::size_t bytes, bool write, bool typed);

private:
  /// The workers that accessed the bytes of a word, one bit each.
  struct Word {
    std::uint8_t writers = 0, read[4] = {}, written[4] = {};
  };
  /// Returns whether the bytes are of this thread's stack or of its tile's registers.
  bool isOfThread(std::uintptr_t address, std::size_t bytes);
  /// Returns whether the bytes are static data of a loaded object, writable for a write.
  bool isStatic(std::uintptr_t address, std::size_t bytes, bool write);
  std::string nearest(std::uintptr_t address) const;
  /// range: null for static data.
  void checkWorkers(std::uintptr_t address, std::size_t bytes, bool write,
                    const AccessRanges::Range *range);
  static std::string placeOf(std::uintptr_t address, const AccessRanges::Range *range);

  struct Segment {
    std::uintptr_t begin, end;
    bool writable;
  };
  const AccessRanges *of = nullptr;
  std::size_t first = 0, last = 0, hit = 0;
  bool workers = false;
  std::unordered_map<std::uintptr_t, Word> words;
  std::uintptr_t stackBegin = 0, stackEnd = 0;
  std::vector<Segment> segments; // of loaded objects
};

} // namespace poplar::emulator

#endif
