#ifndef IPULSE_EMULATOR_ARCHIVE_H
#define IPULSE_EMULATOR_ARCHIVE_H

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include <poplar/exceptions.hpp>

namespace poplar::emulator {

/// Writes values to a stream, or reads them back in the same order: one description serves both.
class Archive {
public:
  explicit Archive(std::ostream &out) : out(&out) {}
  explicit Archive(std::istream &in) : in(&in) {}
  bool reading() const { return in != nullptr; }

  template <typename T> Archive &operator()(T &value) {
    static_assert(std::is_trivially_copyable<T>::value, "describe the members instead");
    bytes(&value, sizeof value);
    return *this;
  }
  Archive &operator()(std::string &text) {
    size(text);
    bytes(&text[0], text.size());
    return *this;
  }
  template <typename T> Archive &operator()(std::vector<T> &values) {
    static_assert(std::is_trivially_copyable<T>::value, "describe the elements instead");
    size(values);
    bytes(values.data(), values.size() * sizeof(T));
    return *this;
  }
  /// The size of a container, which reading gives it.
  template <typename C> void size(C &container) {
    std::uint64_t n = container.size();
    bytes(&n, sizeof n);
    if (!reading())
      return;
    // A damaged size must not allocate more memory than the file can fill.
    const auto here = in->tellg();
    if (here >= 0) {
      in->seekg(0, std::ios::end);
      const auto left = static_cast<std::uint64_t>(in->tellg() - here);
      in->seekg(here);
      if (n > left)
        throw parse_error("the executable is cut short");
    } else if (n > kMost) {
      throw parse_error("the executable is damaged");
    }
    container.resize(n);
  }

private:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 34; // of a stream that cannot seek

  void bytes(void *first, std::size_t n) {
    if (n == 0)
      return;
    if (out)
      out->write(static_cast<const char *>(first), static_cast<std::streamsize>(n));
    else if (!in->read(static_cast<char *>(first), static_cast<std::streamsize>(n)))
      throw parse_error("the executable is cut short");
  }
  std::ostream *out = nullptr;
  std::istream *in = nullptr;
};

} // namespace poplar::emulator

#endif
