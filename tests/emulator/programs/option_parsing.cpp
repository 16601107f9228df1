// Parses options as PopLibs does, prints names of operators, and compares sizes of equal types.
#include <algorithm>
#include <iostream>
#include <optional>
#include <type_traits>

#include <poplar/IPUModel.hpp>
#include <poplin/ConvParams.hpp>
#include <popops/ExprOpUtils.hpp>
#include <poputil/OptionParsing.hpp>
#include <poputil/exceptions.hpp>

using poplibs::OptionHandler;
using poplibs::OptionSpec;

namespace {

enum class Pass { NONE, INFERENCE, TRAINING };

struct Settings {
  Pass pass = Pass::NONE;
  int depth = 0;
  bool verbose = false;
  double proportion = 0.6;
  std::string name;
  std::vector<unsigned> tiles;
  std::optional<Pass> kept = Pass::TRAINING;
  std::optional<double> limit;
  unsigned calls = 0;
};

void set(Settings &s, const poplar::OptionFlags &flags, bool ignoreUnknown = false) {
  const std::map<std::string, Pass> passes{{"INFERENCE", Pass::INFERENCE},
                                           {"TRAINING", Pass::TRAINING}};
  const OptionSpec spec{
      {"pass", OptionHandler::createWithEnum(s.pass, passes)},
      {"depth", OptionHandler::createWithInteger(s.depth)},
      {"verbose", OptionHandler::createWithBool(s.verbose)},
      {"proportion", OptionHandler::createWithDouble(s.proportion, 0, true, 1, false)},
      {"name", OptionHandler::createWithString(s.name)},
      {"tiles", OptionHandler::createWithList(s.tiles)},
      {"kept", poplibs::createOptionalEnumHandler(s.kept, passes)},
      {"limit", poplibs::createOptionalDoubleHandler(s.limit)},
      {"calls", OptionHandler([&s](poplar::StringRef value) {
         s.calls += poplibs::parse::asInteger<unsigned>(value);
       })},
  };
  for (const auto &flag : flags)
    spec.parse(flag.first, flag.second, ignoreUnknown);
}

void print(const Settings &s) {
  std::cout << static_cast<int>(s.pass) << ' ' << s.depth << ' ' << s.verbose << ' ' << s.proportion
            << ' ' << s.name << ' ' << s.kept.has_value() << ' ' << s.limit.value_or(-1) << ' '
            << s.calls << ':';
  for (const unsigned tile : s.tiles)
    std::cout << ' ' << tile;
  std::cout << '\n';
}

void refused(const char *option, const char *value) {
  Settings s;
  try {
    set(s, {{option, value}});
    std::cout << "accepted " << option << ' ' << value << '\n';
  } catch (const poplar::invalid_option &e) {
    std::cout << "refused " << e.what() << '\n';
  }
}

void operators() {
  using namespace popops::expr::ostream_ext;
  std::cout << popops::expr::UnaryOpType::GELU_ERF << ' ' << popops::expr::BinaryOpType::ATAN2
            << ' ' << popops::expr::TernaryOpType::SELECT << '\n';
  try {
    std::cout << static_cast<popops::expr::BinaryOpType>(99);
  } catch (const poputil::poplibs_error &) {
    std::cout << "no operator\n";
  }
}

/// Compiles only if the types are those of the SDK.
std::size_t sizes(const poplar::Target &target) {
  static_assert(std::is_same<decltype(target.getTypeSize(poplar::HALF)), std::size_t>::value, "");
  const poplin::ConvParams params(poplar::FLOAT, 1, {9}, {4}, 1, 1, 1);
  const std::size_t least = 3;
  return std::max(target.getTypeSize(poplar::HALF), least) +
         std::min(params.getOutputSize(0), least);
}

} // namespace

int main() {
  Settings s;
  set(s, {{"pass", "TRAINING"},
          {"depth", "0x10"},
          {"verbose", "true"},
          {"proportion", "0.25"},
          {"name", "wide"},
          {"tiles", "3,0x0f,7"},
          {"kept", "none"},
          {"limit", "2.5"},
          {"calls", "4"}});
  print(s);
  set(s, {{"unknown", "1"}, {"depth", "-2"}}, true);
  print(s);
  refused("unknown", "1");
  refused("pass", "BOTH");
  refused("depth", "3.5");
  refused("verbose", "yes");
  refused("proportion", "1");
  refused("proportion", "-0.5");
  refused("tiles", "1,two");
  refused("limit", "0");
  operators();
  std::cout << sizes(poplar::IPUModel().createDevice().getTarget()) << '\n';
}
