#include <poplar/Executable.hpp>

#include <sstream>

#include <poplar/exceptions.hpp>

#include "archived_graph.h"
#include "compiled.h"

namespace poplar {

using namespace emulator;

namespace {

const std::string kMagic = "IPULSE-EMULATED-EXECUTABLE ";
// The version of the archive format, of Machine and of codelet files (popc/table_source.h). Raise
// it with any change of them.
const std::string kVersion = "7";
constexpr std::size_t kLongestVersion = 16;

/// FNV-1a, so that damage is found before anything is read.
std::uint64_t checksumOf(const std::string &bytes) {
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (const char c : bytes)
    sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return sum;
}

void put(Archive &a, Compiled &c) {
  emulator::put(a, *c.graph);
  emulator::put(a, *c.graph, c.programs);
  std::vector<std::string> options;
  for (const auto &option : c.options) {
    options.push_back(option.first);
    options.push_back(option.second);
  }
  a.size(options);
  for (std::string &word : options)
    a(word);
  for (std::size_t i = 0; a.reading() && i + 1 < options.size(); i += 2)
    c.options.set(options[i], options[i + 1]);
}

/// Reads the first line; raises parse_error unless it is that of this version's executables.
void checkHeader(std::istream &in) {
  std::string magic(kMagic.size(), ' ');
  in.read(&magic[0], static_cast<std::streamsize>(magic.size()));
  if (magic != kMagic)
    throw parse_error("the stream holds no executable of this emulator");
  std::string version;
  for (char c; version.size() < kLongestVersion && in.get(c) && c != '\n';)
    version += c;
  if (version != kVersion)
    throw parse_error("the executable has format " + version + " and this emulator reads format " +
                      kVersion + ": compile the program again");
}

} // namespace

Executable::Executable(std::shared_ptr<Compiled> compiled) : compiled(std::move(compiled)) {}
Executable::Executable() = default;
const std::shared_ptr<Compiled> &Executable::getCompiled() const { return compiled.get(); }
Executable::Executable(Executable &&) noexcept = default;
Executable &Executable::operator=(Executable &&) noexcept = default;
Executable::~Executable() = default;

std::string Executable::getVersionString() const { return "emulated " + kVersion; }

void Executable::serialize(std::ostream &out) const {
  std::ostringstream content;
  Archive inner(content);
  emulator::put(inner, compiled->graph->machine);
  put(inner, *compiled);
  std::string bytes = content.str();
  std::uint64_t checksum = checksumOf(bytes);
  out << kMagic << kVersion << '\n';
  Archive a(out);
  a(checksum)(bytes);
  if (!out)
    throw poplar_error("the executable cannot be written");
}

Executable Executable::deserialize(std::istream &in) {
  checkHeader(in);
  std::uint64_t checksum = 0;
  std::string bytes;
  Archive a(in);
  a(checksum)(bytes);
  if (checksumOf(bytes) != checksum)
    throw parse_error("the executable is damaged");
  std::istringstream content(bytes);
  Archive inner(content);
  Machine machine;
  emulator::put(inner, machine);
  Compiled read;
  read.graph = std::make_shared<GraphState>(machine);
  put(inner, read);
  return Executable(compile(read.graph, read.programs, read.options));
}

} // namespace poplar
