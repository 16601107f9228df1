#include <poplar/ProfileValue.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace poplar {
namespace {

void writeString(std::ostream &out, const std::string &text) {
  out << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out << '\\' << c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out << escape;
    } else {
      out << c;
    }
  }
  out << '"';
}

void write(std::ostream &out, const ProfileValue &value, bool pretty, const std::string &indent) {
  const std::string inner = pretty ? indent + "  " : "";
  const char *line = pretty ? "\n" : "";
  const char *between = "";
  switch (value.type()) {
  case ProfileValue::Type::STRING:
    writeString(out, value.asString());
    break;
  case ProfileValue::Type::BOOL:
    out << (value.asBool() ? "true" : "false");
    break;
  case ProfileValue::Type::NUMBER: {
    char digits[32];
    const double n = value.asDouble();
    const bool whole = n == std::floor(n) && std::fabs(n) < 9e15;
    std::snprintf(digits, sizeof digits, whole ? "%.0f" : "%.17g", n);
    out << digits;
    break;
  }
  case ProfileValue::Type::VECTOR:
    out << '[';
    for (const ProfileValue &element : value.asVector()) {
      out << between << line << inner;
      write(out, element, pretty, inner);
      between = ",";
    }
    out << (value.size() ? line + (pretty ? indent : "") : "") << ']';
    break;
  case ProfileValue::Type::MAP:
    out << '{';
    for (const auto &member : value.asMap()) {
      out << between << line << inner;
      writeString(out, member.first);
      out << (pretty ? ": " : ":");
      write(out, member.second, pretty, inner);
      between = ",";
    }
    out << (value.size() ? line + (pretty ? indent : "") : "") << '}';
    break;
  }
}

} // namespace

const ProfileValue &ProfileValue::operator[](const std::string &name) const {
  for (const auto &member : members)
    if (member.first == name)
      return member.second;
  throw std::out_of_range("the profile has no '" + name + "'");
}

bool ProfileValue::has(const std::string &name) const {
  return std::any_of(members.begin(), members.end(),
                     [&](const auto &member) { return member.first == name; });
}

void serializeToJSON(std::ostream &out, const ProfileValue &value, bool prettyPrint) {
  write(out, value, prettyPrint, "");
}

} // namespace poplar
