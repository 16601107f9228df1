#ifndef poplar_StringRef_hpp
#define poplar_StringRef_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstring>
#include <ostream>
#include <string>

#include <poplar/StandardHeaders.hpp>

namespace poplar {

/// A view of characters that it does not own.
class StringRef {
public:
  constexpr StringRef() = default;
  StringRef(const std::string &s) : first(s.data()), count(s.size()) {}
  StringRef(const char *s) : first(s), count(std::strlen(s)) {}
  constexpr StringRef(const char *s, std::size_t size) : first(s), count(size) {}

  const char *begin() const { return first; }
  const char *end() const { return first + count; }
  const char *data() const { return first; }
  std::size_t size() const { return count; }
  bool empty() const { return count == 0; }
  char operator[](std::size_t i) const { return first[i]; }
  std::string cloneAsString() const { return std::string(first, count); }
  operator std::string() const { return cloneAsString(); }

private:
  const char *first = "";
  std::size_t count = 0;
};

inline bool operator==(StringRef a, StringRef b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}
inline bool operator!=(StringRef a, StringRef b) { return !(a == b); }
inline bool operator<(StringRef a, StringRef b) { return a.cloneAsString() < b.cloneAsString(); }
inline std::string operator+(StringRef a, StringRef b) {
  return a.cloneAsString() + b.cloneAsString();
}
inline std::ostream &operator<<(std::ostream &os, StringRef s) {
  return os.write(s.data(), static_cast<std::streamsize>(s.size()));
}

} // namespace poplar

#endif
