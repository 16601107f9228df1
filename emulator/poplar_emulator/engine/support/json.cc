#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <poplar/exceptions.hpp>

#include "profile/profile.h"

namespace poplar::emulator {
namespace {

namespace fs = std::filesystem;

/// Parses JSON as serializeToJSON writes it: with the fewest possible escapes and without null.
class JSONReader {
public:
  explicit JSONReader(const std::string &text) : text(text) {}

  ProfileValue read() {
    const ProfileValue value = element();
    if (next() != '\0')
      fail();
    return value;
  }

private:
  [[noreturn]] void fail() const { throw parse_error("not JSON at byte " + std::to_string(at)); }
  char next() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
    return at < text.size() ? text[at] : '\0';
  }
  void take(char c) {
    if (next() != c)
      fail();
    ++at;
  }
  bool takeWord(const std::string &word) {
    if (text.compare(at, word.size(), word) != 0)
      return false;
    at += word.size();
    return true;
  }
  std::string string() {
    std::string value;
    for (take('"'); at < text.size() && text[at] != '"'; ++at) {
      if (text[at] != '\\') {
        value += text[at];
      } else if (at + 5 < text.size() && text[at + 1] == 'u') {
        value += static_cast<char>(std::strtoul(text.substr(at + 2, 4).c_str(), nullptr, 16));
        at += 5;
      } else if (++at < text.size()) {
        value += text[at];
      }
    }
    take('"');
    return value;
  }
  ProfileValue number() {
    const char *begin = text.c_str() + at;
    char *end;
    const double value = std::strtod(begin, &end);
    if (end == begin)
      fail();
    at += static_cast<std::size_t>(end - begin);
    return value;
  }
  /// Calls `one` until the bracket closes.
  template <typename F> void list(char open, char close, F one) {
    take(open);
    while (next() != close) {
      one();
      if (next() != close)
        take(',');
    }
    take(close);
  }
  ProfileValue element() {
    const char c = next();
    ProfileValue value;
    if (c == '{')
      list('{', '}', [&] {
        const std::string name = string();
        take(':');
        value.insert(name, element());
      });
    else if (c == '[') {
      value = profileList();
      list('[', ']', [&] { value.append(element()); });
    } else if (c == '"')
      value = string();
    else if (takeWord("true"))
      value = true;
    else if (takeWord("false"))
      value = false;
    else
      value = number();
    return value;
  }

  const std::string &text;
  std::size_t at = 0;
};

} // namespace

ProfileValue parseJSON(const std::string &text) { return JSONReader(text).read(); }

ProfileValue readProfile(const std::string &path) {
  fs::path found = path;
  if (!fs::exists(found) && found.extension() == ".pop")
    found.replace_extension(".json");
  std::ifstream in(found, std::ios::binary);
  if (!in)
    throw file_load_error("there is no profile '" + path +
                          "': autoReport.outputGraphProfile writes one, profile.json, which is "
                          "read under the name profile.pop, too");
  try {
    return parseJSON(std::string(std::istreambuf_iterator<char>(in), {}));
  } catch (const parse_error &error) {
    throw parse_error("'" + path + "' is no profile of the emulator's: " + error.what());
  }
}

} // namespace poplar::emulator
