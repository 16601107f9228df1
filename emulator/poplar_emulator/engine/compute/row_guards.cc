#include "row_guards.h"

#include <cstdint>

namespace poplar::emulator {
namespace {

/// Returns the byte of a guard: those of half and float are NaN. Rows differ, because what a vertex
/// reads outside of one row it may write outside of another.
char fill(const char *at, std::size_t row) {
  const bool upper = reinterpret_cast<std::uintptr_t>(at) % 2 != 0;
  return static_cast<char>(upper ? 0xff : 0x80 + row % 0x7f);
}

/// Returns the place of the changed byte that is nearest to the row, or -1.
std::ptrdiff_t changed(const char *first, std::ptrdiff_t step, std::size_t row) {
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(RowGuards::kBytes); ++i)
    if (first[i * step] != fill(first + i * step, row))
      return i;
  return -1;
}

} // namespace

void RowGuards::add(const field::FieldTable &field, char *first, std::size_t bytes) {
  rows.push_back({&field, first, bytes});
  restore(rows.size() - 1, rows.size());
}

void RowGuards::restore(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    char *const first = rows[i].first, *const last = first + rows[i].bytes;
    for (char *at = first - kBytes; at != first; ++at)
      *at = fill(at, i);
    for (char *at = last; at != last + kBytes; ++at)
      *at = fill(at, i);
  }
}

std::string RowGuards::writtenOutside(std::size_t begin, std::size_t end) const {
  for (std::size_t i = begin; i < end; ++i) {
    const Row &row = rows[i];
    const std::ptrdiff_t after = changed(row.first + row.bytes, 1, i);
    const std::ptrdiff_t before = changed(row.first - 1, -1, i);
    if (after < 0 && before < 0)
      continue;
    const std::string where = after >= 0 ? std::to_string(after) + " bytes after the end"
                                         : std::to_string(before + 1) + " bytes before the begin";
    return "wrote outside of field '" + std::string(row.field->name) + "', " + where + " of its " +
           std::to_string(row.bytes) + " bytes";
  }
  return "";
}

} // namespace poplar::emulator
