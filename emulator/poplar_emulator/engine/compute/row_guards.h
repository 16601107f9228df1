#ifndef IPULSE_EMULATOR_ROW_GUARDS_H
#define IPULSE_EMULATOR_ROW_GUARDS_H

#include <cstddef>
#include <string>
#include <vector>

#include <poplar/VertexTable.hpp>

namespace poplar::emulator {

/// Bytes before and after the rows of fields, which a vertex must not write.
class RowGuards {
public:
  /// Bytes on each side of a row.
  static constexpr std::size_t kBytes = 64;

  /// Fills the guards around a row of `bytes` bytes at `first`. A half or float that is read from
  /// them is NaN.
  void add(const field::FieldTable &field, char *first, std::size_t bytes);
  std::size_t size() const { return rows.size(); }
  /// Fills the guards of the rows from `begin` to `end` again.
  void restore(std::size_t begin, std::size_t end);
  /// Describes the first write outside of the rows from `begin` to `end`; "" if there is none.
  std::string writtenOutside(std::size_t begin, std::size_t end) const;

private:
  struct Row {
    const field::FieldTable *field;
    char *first;
    std::size_t bytes;
  };
  std::vector<Row> rows;
};

} // namespace poplar::emulator

#endif
