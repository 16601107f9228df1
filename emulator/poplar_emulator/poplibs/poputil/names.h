#ifndef IPULSE_POPLIBS_NAMES_H
#define IPULSE_POPLIBS_NAMES_H

#include <istream>
#include <string>
#include <utility>

namespace poplar::emulator {

/// The values of an enumeration and their names.
template <typename E, std::size_t N> using Names = const std::pair<E, const char *>[N];

template <typename E, std::size_t N> const char *nameIn(const Names<E, N> &names, E value) {
  for (const auto &[known, name] : names)
    if (known == value)
      return name;
  return "unknown";
}
/// Sets failbit for an unknown name.
template <typename E, std::size_t N>
std::istream &readFrom(const Names<E, N> &names, std::istream &in, E &value) {
  std::string word;
  in >> word;
  for (const auto &[known, name] : names)
    if (word == name) {
      value = known;
      return in;
    }
  in.setstate(std::ios::failbit);
  return in;
}

} // namespace poplar::emulator

#endif
