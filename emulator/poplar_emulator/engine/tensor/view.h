#ifndef IPULSE_EMULATOR_VIEW_H
#define IPULSE_EMULATOR_VIEW_H

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace poplar::emulator {

/// Elements start, start + stride, ... of one variable.
struct Run {
  unsigned variable;
  std::size_t start;
  std::size_t count;
  std::ptrdiff_t stride;

  std::size_t at(std::size_t i) const {
    return start + static_cast<std::size_t>(static_cast<std::ptrdiff_t>(i) * stride);
  }
};

/// A range of one variable.
struct Piece {
  unsigned variable;
  std::size_t begin, end;
};

/// The elements of a tensor in the order of the flattened tensor. Runs represent rows, columns and
/// broadcasts compactly: the cost of a view depends on its structure, not on its size.
class View {
public:
  View() = default;
  explicit View(Run run) { append(run); }

  std::size_t size() const { return total; }
  const std::vector<Run> &runs() const { return list; }
  /// Returns the variable and the element behind element i.
  std::pair<unsigned, std::size_t> at(std::size_t i) const;
  void append(Run run);
  /// Appends elements [begin, end) of another view.
  void append(const View &other, std::size_t begin, std::size_t end);
  /// Appends elements first, first + step, ... of another view.
  void appendStrided(const View &other, std::size_t first, std::size_t step, std::size_t count);
  View slice(std::size_t begin, std::size_t end) const;

  /// Calls f(Piece) for maximal contiguous ranges, in order.
  template <typename F> void forEachPiece(F &&f) const {
    Piece pending{0, 0, 0};
    const auto add = [&](unsigned variable, std::size_t begin, std::size_t end) {
      if (pending.end == begin && pending.variable == variable && pending.end != pending.begin) {
        pending.end = end;
        return;
      }
      if (pending.end != pending.begin)
        f(pending);
      pending = {variable, begin, end};
    };
    for (const Run &run : list) {
      if (run.stride == 1) {
        add(run.variable, run.start, run.start + run.count);
        continue;
      }
      for (std::size_t i = 0; i < run.count; ++i)
        add(run.variable, run.at(i), run.at(i) + 1);
    }
    if (pending.end != pending.begin)
      f(pending);
  }
  std::vector<Piece> pieces() const;

private:
  std::size_t find(std::size_t i) const;

  std::vector<Run> list;
  std::vector<std::size_t> begins; // by run: elements before it
  std::size_t total = 0;
};

} // namespace poplar::emulator

#endif
