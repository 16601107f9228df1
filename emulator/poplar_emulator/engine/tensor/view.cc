#include "view.h"

#include <algorithm>

namespace poplar::emulator {

std::size_t View::find(std::size_t i) const {
  return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), i) -
                                  begins.begin()) -
         1;
}

std::pair<unsigned, std::size_t> View::at(std::size_t i) const {
  const std::size_t r = find(i);
  return {list[r].variable, list[r].at(i - begins[r])};
}

void View::append(Run run) {
  if (run.count == 0)
    return;
  if (run.count == 1)
    run.stride = 1;
  if (!list.empty() && list.back().variable == run.variable) {
    Run &last = list.back();
    const auto gap = static_cast<std::ptrdiff_t>(run.start) -
                     static_cast<std::ptrdiff_t>(last.at(last.count - 1));
    const bool fits =
        (last.count == 1 || last.stride == gap) && (run.count == 1 || run.stride == gap);
    if (fits) {
      last.stride = gap;
      last.count += run.count;
      total += run.count;
      return;
    }
  }
  begins.push_back(total);
  list.push_back(run);
  total += run.count;
}

void View::append(const View &other, std::size_t begin, std::size_t end) {
  if (begin == end)
    return;
  for (std::size_t r = other.find(begin); begin < end; ++r) {
    Run run = other.list[r];
    const std::size_t skip = begin - other.begins[r];
    run.start = run.at(skip);
    run.count = std::min(run.count - skip, end - begin);
    append(run);
    begin += run.count;
  }
}

void View::appendStrided(const View &other, std::size_t first, std::size_t step,
                         std::size_t count) {
  for (std::size_t i = 0; i < count;) {
    const std::size_t index = first + i * step;
    const std::size_t r = other.find(index);
    Run run = other.list[r];
    const std::size_t skip = index - other.begins[r];
    const std::size_t inside = step == 0 ? count - i : (run.count - skip - 1) / step + 1;
    run.start = run.at(skip);
    run.count = std::min(inside, count - i);
    run.stride *= static_cast<std::ptrdiff_t>(step);
    append(run);
    i += run.count;
  }
}

View View::slice(std::size_t begin, std::size_t end) const {
  View result;
  result.append(*this, begin, end);
  return result;
}

std::vector<Piece> View::pieces() const {
  std::vector<Piece> result;
  forEachPiece([&](const Piece &piece) { result.push_back(piece); });
  return result;
}

} // namespace poplar::emulator
