#ifndef poplar_ProfileValue_hpp
#define poplar_ProfileValue_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <map>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <poplar/OptionFlags.hpp>

namespace poplar {

/// A tree of numbers, strings, booleans, vectors and maps: a profile.
class ProfileValue {
public:
  enum class Type { STRING, NUMBER, BOOL, VECTOR, MAP, BOOL_ = BOOL };
  using Vector = std::vector<ProfileValue>;
  /// Values by name, in the order of their insertion.
  class Map : public std::vector<std::pair<std::string, ProfileValue>> {
  public:
    using std::vector<std::pair<std::string, ProfileValue>>::vector;
    /// Does nothing if the name is there, as a std::map.
    void insert(const std::pair<std::string, ProfileValue> &member);
    ProfileValue &operator[](const std::string &name);
    /// Raises std::out_of_range for a missing name.
    const ProfileValue &at(const std::string &name) const;
    std::size_t count(const std::string &name) const;
  };

  ProfileValue() : kind(Type::MAP) {}
  ProfileValue(double n) : kind(Type::NUMBER), number(n) {}
  ProfileValue(std::size_t n) : ProfileValue(static_cast<double>(n)) {}
  ProfileValue(unsigned n) : ProfileValue(static_cast<double>(n)) {}
  ProfileValue(int n) : ProfileValue(static_cast<double>(n)) {}
  ProfileValue(bool b) : kind(Type::BOOL), number(b) {}
  ProfileValue(std::string s) : kind(Type::STRING), text(std::move(s)) {}
  ProfileValue(const char *s) : ProfileValue(std::string(s)) {}
  ProfileValue(Vector v);
  ProfileValue(Map m);

  Type type() const { return kind; }
  double asDouble() const { return number; }
  std::size_t asUint() const { return static_cast<std::size_t>(number); }
  std::int64_t asInt() const { return static_cast<std::int64_t>(number); }
  bool asBool() const { return number != 0; }
  const std::string &asString() const { return text; }
  const Vector &asVector() const { return elements; }
  const Map &asMap() const { return members; }
  // The numbers of a vector; their sum; the sum of all numbers in a vector of vectors.
  std::vector<std::uint64_t> toUintVector() const;
  double sumDouble() const;
  std::int64_t sumInt() const { return static_cast<std::int64_t>(sumDouble()); }
  std::uint64_t sumUint() const { return static_cast<std::uint64_t>(sumDouble()); }
  std::int64_t sum2DInt() const { return static_cast<std::int64_t>(sum2DDouble()); }
  std::uint64_t sum2DUint() const { return static_cast<std::uint64_t>(sum2DDouble()); }
  std::size_t size() const { return kind == Type::MAP ? members.size() : elements.size(); }
  /// Raises std::out_of_range for a missing name or index.
  const ProfileValue &operator[](const std::string &name) const;
  const ProfileValue &operator[](const char *name) const { return (*this)[std::string(name)]; }
  bool has(const std::string &name) const;
  const ProfileValue &operator[](std::size_t i) const { return elements.at(i); }
  const ProfileValue &operator[](int i) const { return elements.at(static_cast<std::size_t>(i)); }
  void insert(std::string name, ProfileValue value) {
    members.emplace_back(std::move(name), std::move(value));
  }
  void append(ProfileValue value) {
    kind = Type::VECTOR;
    elements.push_back(std::move(value));
  }

private:
  double sum2DDouble() const;

  Type kind;
  double number = 0;
  std::string text;
  Vector elements;
  Map members;
};

inline ProfileValue::ProfileValue(Vector v) : kind(Type::VECTOR), elements(std::move(v)) {}
inline ProfileValue::ProfileValue(Map m) : kind(Type::MAP), members(std::move(m)) {}
inline std::vector<std::uint64_t> ProfileValue::toUintVector() const {
  std::vector<std::uint64_t> numbers;
  for (const ProfileValue &element : elements)
    numbers.push_back(element.asUint());
  return numbers;
}
inline double ProfileValue::sumDouble() const {
  double sum = 0;
  for (const ProfileValue &element : elements)
    sum += element.number;
  return sum;
}
inline double ProfileValue::sum2DDouble() const {
  double sum = 0;
  for (const ProfileValue &element : elements)
    sum += element.sumDouble();
  return sum;
}
inline void ProfileValue::Map::insert(const std::pair<std::string, ProfileValue> &member) {
  if (!count(member.first))
    push_back(member);
}
inline ProfileValue &ProfileValue::Map::operator[](const std::string &name) {
  for (auto &member : *this)
    if (member.first == name)
      return member.second;
  emplace_back(name, ProfileValue());
  return back().second;
}
inline const ProfileValue &ProfileValue::Map::at(const std::string &name) const {
  for (const auto &member : *this)
    if (member.first == name)
      return member.second;
  throw std::out_of_range("there is no '" + name + "' in this ProfileValue");
}
inline std::size_t ProfileValue::Map::count(const std::string &name) const {
  std::size_t found = 0;
  for (const auto &member : *this)
    found += member.first == name;
  return found;
}

/// Prints a profile for people; [M] options are showExecutionSteps and showVarStorage, each "true"
/// or "false". Raises std::out_of_range for a profile that is not from an engine.
void printGraphSummary(std::ostream &out, const ProfileValue &graphProfile,
                       const OptionFlags &opts = {});
void printExecutionSummary(std::ostream &out, const ProfileValue &graphProfile,
                           const ProfileValue &executionProfile, const OptionFlags &opts = {});
void printProfileSummary(std::ostream &out, const ProfileValue &graphProfile,
                         const ProfileValue &executionProfile, const OptionFlags &opts = {});
/// Prints the profile of a file that autoReport wrote: profile.json, also by the name profile.pop.
/// Raises file_load_error, parse_error.
void printGraphSummary(std::ostream &out, const std::string &profilePath,
                       const OptionFlags &opts = {});
void printExecutionSummary(std::ostream &out, const std::string &profilePath,
                           const OptionFlags &opts = {});
void printProfileSummary(std::ostream &out, const std::string &profilePath,
                         const OptionFlags &opts = {});
inline void printGraphSummary(std::ostream &out, const char *profilePath,
                              const OptionFlags &opts = {}) {
  printGraphSummary(out, std::string(profilePath), opts);
}
inline void printExecutionSummary(std::ostream &out, const char *profilePath,
                                  const OptionFlags &opts = {}) {
  printExecutionSummary(out, std::string(profilePath), opts);
}
inline void printProfileSummary(std::ostream &out, const char *profilePath,
                                const OptionFlags &opts = {}) {
  printProfileSummary(out, std::string(profilePath), opts);
}

void serializeToJSON(std::ostream &out, const ProfileValue &value, bool prettyPrint = false);

} // namespace poplar

#endif
