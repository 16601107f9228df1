#ifndef poplar_OptionFlags_hpp
#define poplar_OptionFlags_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <initializer_list>
#include <map>
#include <ostream>
#include <string>
#include <utility>

#include <poplar/StringRef.hpp>

namespace poplar {

/// Options by name; a later setting of the same name wins.
class OptionFlags {
public:
  using OptionFlag = std::pair<const std::string, std::string>;
  using initializer_list = std::initializer_list<OptionFlag>;
  using iterator = std::map<std::string, std::string>::const_iterator;

  OptionFlags() = default;
  OptionFlags(initializer_list list) { set(list); }

  void set(initializer_list list) {
    for (const auto &flag : list)
      values[flag.first] = flag.second;
  }
  void set(StringRef option, StringRef value) { values[option] = value.cloneAsString(); }
  /// Raises std::out_of_range when the option is not set.
  const std::string &at(StringRef option) const { return values.at(option); }
  void clear() { values.clear(); }
  iterator begin() const { return values.begin(); }
  iterator end() const { return values.end(); }
  bool operator==(const OptionFlags &other) const { return values == other.values; }
  bool operator!=(const OptionFlags &other) const { return values != other.values; }
  bool operator<(const OptionFlags &other) const { return values < other.values; }

private:
  std::map<std::string, std::string> values;
};

std::ostream &operator<<(std::ostream &os, const OptionFlags &flags);
/// Adds to `flags` what a JSON object of strings says; raises parse_error when it is none.
void readJSON(StringRef json, OptionFlags &flags);
void readJSON(std::istream &stream, OptionFlags &flags);

} // namespace poplar

#endif
