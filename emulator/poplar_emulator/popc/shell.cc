#include "shell.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace popc {
namespace {

std::string quoted(const std::string &word) {
  std::string result = "'";
  for (const char c : word)
    result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

} // namespace

Outcome run(const std::string &command, const std::vector<std::string> &arguments) {
  std::string line = command;
  for (const std::string &argument : arguments)
    line += " " + quoted(argument);
  line += " 2>&1";
  FILE *pipe = popen(line.c_str(), "r");
  if (!pipe)
    throw std::runtime_error("cannot start " + command);
  Outcome outcome{0, ""};
  char buffer[65536];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    outcome.output.append(buffer, n);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void writeFile(const std::string &path, const std::string &text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush())
    throw std::runtime_error("cannot write " + path);
}

ScratchDirectory::ScratchDirectory(const std::string &parent) {
  const std::filesystem::path base =
      parent.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(parent);
  path = (base / "popc-XXXXXX").string();
  if (!mkdtemp(path.data()))
    throw std::runtime_error("cannot make a directory in " + base.string());
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

} // namespace popc
