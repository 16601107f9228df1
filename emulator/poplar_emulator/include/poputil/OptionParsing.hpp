#ifndef poputil_OptionParsing_hpp
#define poputil_OptionParsing_hpp

// Reads the values of options: a specification maps each name to what its value sets.

#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#if __cplusplus >= 201703L
#include <optional>
#endif
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <poplar/StringRef.hpp>
#include <poplar/exceptions.hpp>

namespace poplibs {

namespace parse {

/// Reads an integer from a stream of one number, hexadecimal if its text has "0x".
template <typename T> bool readInteger(const std::string &text, T &result) {
  std::istringstream in(text);
  in >> (text.find("0x") == std::string::npos ? std::dec : std::hex) >> result;
  return !in.fail() && in.eof();
}

/// Raises invalid_option, as all functions here, for a text that is not one integer.
template <typename T> T asInteger(const poplar::StringRef &str) {
  T result;
  if (!readInteger(str.cloneAsString(), result))
    throw poplar::invalid_option("an integer is needed");
  return result;
}

/// Ignores what follows the number.
template <typename T> T asFloatingPoint(const poplar::StringRef &str) {
  std::istringstream in(str.cloneAsString());
  T result;
  if (!(in >> result))
    throw poplar::invalid_option("a number is needed");
  return result;
}

/// Returns "['a', 'b']" for the names of a map.
template <typename T> std::string describeEnumValues(const std::map<std::string, T> &valueMap) {
  std::string names;
  for (const auto &entry : valueMap)
    names += (names.empty() ? "'" : ", '") + entry.first + "'";
  return "[" + names + "]";
}

template <typename T>
T asEnum(const poplar::StringRef &value, const std::map<std::string, T> &map) {
  const auto entry = map.find(value.cloneAsString());
  if (entry == map.end())
    throw poplar::invalid_option("one of " + describeEnumValues(map) + " is needed");
  return entry->second;
}

inline bool asBool(const poplar::StringRef &value) {
  return asEnum<bool>(value, {{"true", true}, {"false", false}});
}

} // namespace parse

/// Checks the value of an option and stores it in a variable.
class OptionHandler {
public:
  template <typename T, typename = typename std::enable_if<!std::is_same<
                            typename std::decay<T>::type, OptionHandler>::value>::type>
  OptionHandler(T &&valueHandler) : handle(std::forward<T>(valueHandler)) {}
  void parseValue(poplar::StringRef value) const { handle(value); }

  // Handlers that set a variable, which must live as long as they do.
  template <typename T, typename ValueMapT = std::map<std::string, T>>
  static OptionHandler createWithEnum(T &output, ValueMapT &&valueMap) {
    const std::map<std::string, T> known(std::forward<ValueMapT>(valueMap));
    return {[&output, known](poplar::StringRef value) { output = parse::asEnum(value, known); }};
  }
  template <typename T> static OptionHandler createWithInteger(T &output) {
    return {[&output](poplar::StringRef value) {
      output = static_cast<T>(parse::asInteger<int>(value));
    }};
  }
  template <typename T> static OptionHandler createWithBool(T &output) {
    return {[&output](poplar::StringRef value) { output = static_cast<T>(parse::asBool(value)); }};
  }
  /// The default bounds accept positive values.
  template <typename T>
  static OptionHandler createWithDouble(T &output,
                                        double lowerBound = std::numeric_limits<double>::min(),
                                        bool lowerBoundIsInclusive = true,
                                        double upperBound = std::numeric_limits<double>::max(),
                                        bool upperBoundIsInclusive = true) {
    return {[=, &output](poplar::StringRef value) {
      const double number = parse::asFloatingPoint<double>(value);
      ensureValueIsWithinBounds(number, lowerBound, lowerBoundIsInclusive, upperBound,
                                upperBoundIsInclusive);
      output = static_cast<T>(number);
    }};
  }
  static OptionHandler createWithString(std::string &output) {
    return {[&output](poplar::StringRef value) { output = value.cloneAsString(); }};
  }
  /// Appends integers that commas separate.
  template <typename T> static OptionHandler createWithList(std::vector<T> &output) {
    return {[&output](poplar::StringRef values) {
      std::istringstream in(values.cloneAsString());
      for (std::string element; std::getline(in, element, ',');) {
        T value;
        if (!parse::readInteger(element, value))
          throw poplar::invalid_option("integers with commas between them are needed");
        output.push_back(value);
      }
    }};
  }
  template <typename T>
  static void ensureValueIsWithinBounds(T value, const T &lowerBound, bool lowerBoundIsInclusive,
                                        const T &upperBound, bool upperBoundIsInclusive) {
    if (value < lowerBound || (value == lowerBound && !lowerBoundIsInclusive))
      refuse(lowerBoundIsInclusive ? "at least " : "above ", lowerBound);
    if (value > upperBound || (value == upperBound && !upperBoundIsInclusive))
      refuse(upperBoundIsInclusive ? "at most " : "below ", upperBound);
  }

private:
  template <typename T> static void refuse(const char *which, const T &bound) {
    std::ostringstream words;
    words << "a value " << which << bound << " is needed";
    throw poplar::invalid_option(words.str());
  }

  std::function<void(poplar::StringRef)> handle;
};

/// The options of a function by name.
class OptionSpec {
public:
  OptionSpec(std::initializer_list<std::pair<const std::string, OptionHandler>> handlers)
      : handlers(handlers) {}
  /// Raises invalid_option, with the name of the option, for a value that its handler refuses and,
  /// unless they are ignored, for options that are not specified.
  void parse(poplar::StringRef option, poplar::StringRef value, bool ignoreUnknown = false) const {
    const auto found = handlers.find(option.cloneAsString());
    if (found == handlers.end()) {
      if (ignoreUnknown)
        return;
      throw poplar::invalid_option("there is no option '" + option.cloneAsString() + "'");
    }
    try {
      found->second.parseValue(value);
    } catch (const poplar::invalid_option &e) {
      throw poplar::invalid_option("option '" + option.cloneAsString() + "' has the value '" +
                                   value.cloneAsString() + "': " + e.what());
    }
  }

private:
  std::map<const std::string, OptionHandler> handlers;
};

#if __cplusplus >= 201703L
template <typename T>
OptionHandler createOptionalDoubleHandler(std::optional<T> &output,
                                          double lowerBound = std::numeric_limits<double>::min(),
                                          bool lowerBoundIsInclusive = true,
                                          double upperBound = std::numeric_limits<double>::max(),
                                          bool upperBoundIsInclusive = true) {
  return OptionHandler::createWithDouble(output, lowerBound, lowerBoundIsInclusive, upperBound,
                                         upperBoundIsInclusive);
}

/// "none" empties the variable.
template <typename T, typename ValueMapT = std::map<std::string, T>>
OptionHandler createOptionalEnumHandler(std::optional<T> &output, ValueMapT &&valueMap) {
  const std::map<std::string, T> known(std::forward<ValueMapT>(valueMap));
  return {[&output, known](poplar::StringRef value) {
    if (value == "none")
      output.reset();
    else
      output = parse::asEnum(value, known);
  }};
}
#endif

} // namespace poplibs

#endif
