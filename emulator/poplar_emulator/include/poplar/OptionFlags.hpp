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

/// Options by name; a later setting of the same name overrides an earlier one.
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
  /// Raises std::out_of_range if the option is not set.
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
/// Adds the options of a JSON object of strings to `flags`; raises parse_error for any other text.
void readJSON(StringRef json, OptionFlags &flags);
void readJSON(std::istream &stream, OptionFlags &flags);
/// Adds the options of the JSON in an environment variable, if it is set.
void readJSONFromEnv(StringRef name, OptionFlags &flags);

} // namespace poplar

#endif
