#ifndef poplar_ArrayRef_hpp
#define poplar_ArrayRef_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <array>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include <poplar/StandardHeaders.hpp>

namespace poplar {

/// A view of `size()` values that it does not own.
template <typename T> class ArrayRef {
public:
  using value_type = T;
  using const_iterator = const T *;
  using iterator = const T *;

  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T *first, std::size_t size) : first(first), count(size) {}
  template <typename A> ArrayRef(const std::vector<T, A> &v) : first(v.data()), count(v.size()) {}
  template <std::size_t N>
  constexpr ArrayRef(const std::array<T, N> &v) : first(v.data()), count(N) {}
  template <std::size_t N> constexpr ArrayRef(const T (&v)[N]) : first(v), count(N) {}
// The list lives until the end of the full expression, which suffices for an argument.
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  constexpr ArrayRef(std::initializer_list<T> v) : first(v.begin()), count(v.size()) {}
#pragma GCC diagnostic pop

  constexpr const T *begin() const { return first; }
  constexpr const T *end() const { return first + count; }
  constexpr const T *data() const { return first; }
  constexpr std::size_t size() const { return count; }
  constexpr bool empty() const { return count == 0; }
  constexpr const T &operator[](std::size_t i) const { return first[i]; }
  constexpr const T &front() const { return first[0]; }
  constexpr const T &back() const { return first[count - 1]; }
  std::vector<T> cloneAsVector() const { return {begin(), end()}; }

private:
  const T *first = nullptr;
  std::size_t count = 0;
};

} // namespace poplar

#endif
