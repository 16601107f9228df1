#include "check.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "compile.h"
#include "shell.h"

namespace popc {
namespace {

struct CheckedSource {
  std::string path;
  double seconds;
  std::string warning, error, output; // error is "" if it compiles
};

CheckedSource check(const std::string &source, const std::vector<std::string> &flags) {
  CheckedSource checked{source, 0, "", "", ""};
  const ScratchDirectory scratch;
  const auto began = std::chrono::steady_clock::now();
  try {
    checked.warning = compileCodelets({source}, flags, scratch.file("checked.gp"));
  } catch (const CompileError &error) {
    checked.error = error.what();
    checked.output = error.output;
  } catch (const std::exception &error) {
    checked.error = error.what();
  }
  checked.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return checked;
}

/// Returns the length of the UTF-8 character at a place, or 0 if there is none.
std::size_t characterLength(const std::string &text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t length = first < 0x80         ? 1
                             : (first >> 5) == 6  ? 2
                             : (first >> 4) == 14 ? 3
                             : (first >> 3) == 30 ? 4
                                                  : 0;
  for (std::size_t i = 1; i < length; ++i)
    if (at + i >= text.size() || (static_cast<unsigned char>(text[at + i]) >> 6) != 2)
      return 0;
  return length;
}

/// Returns the text for an attribute or an element of XML; bytes that XML has not become '?'.
std::string escaped(const std::string &text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t length = characterLength(text, at);
    if (c == '&' || c == '<' || c == '>' || c == '"')
      result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&quot;";
    else if (length == 0 || (length == 1 && c < ' ' && c != '\n' && c != '\t'))
      result += '?';
    else
      result += text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return result;
}

void writeReport(const std::string &path, const std::vector<CheckedSource> &all) {
  double seconds = 0;
  unsigned failed = 0;
  std::string cases;
  for (const CheckedSource &checked : all) {
    seconds += checked.seconds;
    failed += !checked.error.empty();
    cases += "  <testcase classname=\"popc\" name=\"" + escaped(checked.path) + "\" file=\"" +
             escaped(checked.path) + "\" time=\"" + std::to_string(checked.seconds) + "\">\n";
    if (!checked.error.empty())
      cases += "    <failure message=\"" + escaped(checked.error) + "\">" +
               escaped(checked.output) + "</failure>\n";
    if (!checked.warning.empty())
      cases += "    <system-err>" + escaped(checked.warning) + "</system-err>\n";
    cases += "  </testcase>\n";
  }
  std::ofstream out(path);
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"popc --check\" tests=\""
      << all.size() << "\" failures=\"" << failed << "\" time=\"" << std::to_string(seconds)
      << "\">\n"
      << cases << "</testsuite>\n";
  if (!out.flush())
    throw std::runtime_error("the report cannot be written to '" + path + "'");
}

} // namespace

bool checkSources(const std::vector<std::string> &sources, const std::vector<std::string> &flags,
                  const std::string &report) {
  std::vector<CheckedSource> all;
  bool compile = true;
  for (const std::string &source : sources) {
    all.push_back(check(source, flags));
    const CheckedSource &checked = all.back();
    compile &= checked.error.empty();
    std::printf("%s  %s\n", checked.error.empty() ? "ok    " : "failed", source.c_str());
    std::fflush(stdout);
    if (!checked.error.empty())
      std::fprintf(stderr, "popc: %s\n%s", checked.error.c_str(), checked.output.c_str());
    if (!checked.warning.empty())
      std::fprintf(stderr, "popc: warning: %s\n", checked.warning.c_str());
  }
  if (!report.empty())
    writeReport(report, all);
  return compile;
}

} // namespace popc
