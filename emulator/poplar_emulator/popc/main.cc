#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <poplar/Version.hpp>

#include "check.h"
#include "compile.h"
#include "starts_with.h"

namespace {

const char *const kUsage =
    "usage: popc [-O<n>] [-g] [-I<dir>] [-D<macro>] [-Werror] [--target=<list>] SOURCE... -o "
    "OUT.gp\n"
    "       popc --check [--junit=REPORT.xml] [flags] SOURCE...\n"
    "Compiles codelets for the emulator; a SOURCE is C++ or a .gp. Targets are accepted and make "
    "no difference. --check compiles each SOURCE on its own and writes no library.\n";

bool takesValue(const std::string &flag) {
  return flag == "-I" || flag == "-D" || flag == "-include" || flag == "-isystem" ||
         popc::isForOtherTool(flag);
}

bool isTarget(const std::string &flag) { return flag == "--target" || flag == "-target"; }

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> sources, flags;
  std::string target, report;
  bool isCheck = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (argument == "--version") { // build scripts read the third word of the first line
      std::printf("popc version %s\n", poplar::versionString().cloneAsString().c_str());
      return 0;
    }
    if (argument == "--list-targets") {
      std::puts("cpu\nipu1\nipu2\nipu21");
      return 0;
    }
    const bool needsNext =
        argument == "-o" || isTarget(argument) || argument == "--junit" || takesValue(argument);
    if (needsNext && i + 1 == argc) {
      std::fprintf(stderr, "popc: %s needs a value\n%s", argv[i], kUsage);
      return 2;
    }
    if (argument == "-o")
      target = argv[++i];
    else if (argument == "--check")
      isCheck = true;
    else if (argument == "--junit")
      report = argv[++i];
    else if (popc::startsWith(argument, "--junit="))
      report = argument.substr(std::strlen("--junit="));
    else if (isTarget(argument))
      ++i;
    else if (takesValue(argument)) {
      flags.push_back(argument);
      flags.push_back(argv[++i]);
    } else if (argument.size() > 1 && argument[0] == '-')
      flags.push_back(argument);
    else
      sources.push_back(argument);
  }
  if (sources.empty() || target.empty() != isCheck || (!report.empty() && !isCheck)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  try {
    if (isCheck)
      return popc::checkSources(sources, flags, report) ? 0 : 1;
    const std::string warning = popc::compileCodelets(sources, flags, target);
    if (!warning.empty())
      std::fprintf(stderr, "popc: warning: %s\n", warning.c_str());
  } catch (const popc::CompileError &error) {
    std::fprintf(stderr, "popc: %s\n%s", error.what(), error.output.c_str());
    return 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "popc: %s\n", error.what());
    return 1;
  }
  return 0;
}
