#ifndef poplar_Interval_hpp
#define poplar_Interval_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cassert>
#include <cstddef>
#include <ostream>
#include <utility>

namespace poplar {

/// The half-open range [begin, end).
template <typename T> class GenericInterval {
public:
  GenericInterval() : first(), last() {}
  GenericInterval(T begin, T end) : first(begin), last(end) { assert(begin <= end); }
  GenericInterval(std::pair<T, T> bounds) : GenericInterval(bounds.first, bounds.second) {}

  const T &begin() const { return first; }
  const T &end() const { return last; }
  T &lower() { return first; }
  const T &lower() const { return first; }
  T &upper() { return last; }
  const T &upper() const { return last; }
  T size() const { return last - first; }

private:
  T first, last;
};

using Interval = GenericInterval<std::size_t>;

template <typename T> bool operator==(const GenericInterval<T> &a, const GenericInterval<T> &b) {
  return a.begin() == b.begin() && a.end() == b.end();
}
template <typename T> bool operator!=(const GenericInterval<T> &a, const GenericInterval<T> &b) {
  return !(a == b);
}
template <typename T> bool operator<(const GenericInterval<T> &a, const GenericInterval<T> &b) {
  return std::make_pair(a.begin(), a.end()) < std::make_pair(b.begin(), b.end());
}
template <typename T> std::ostream &operator<<(std::ostream &os, const GenericInterval<T> &i) {
  return os << '[' << i.begin() << ',' << i.end() << ')';
}

} // namespace poplar

#endif
