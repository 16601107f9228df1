#include "codelet_cache.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>

#include <poplar/exceptions.hpp>

#include "popc/compile.h"
#include "popc/shell.h"
#include "shared_object.h"
#include "support/log.h"

namespace poplar::emulator {
namespace {

namespace fs = std::filesystem;

/// FNV-1a twice, from two starts: 128 bits.
std::string hashOf(const std::string &text) {
  std::uint64_t a = 0xcbf29ce484222325u, b = 0x84222325cbf29ce4u;
  for (const char c : text) {
    a = (a ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    b = (b ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    b ^= b >> 29;
  }
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(a),
                static_cast<unsigned long long>(b));
  return digits;
}

fs::path cacheDirectory() {
  const char *named = std::getenv("IPULSE_CACHE");
  const char *home = std::getenv("HOME");
  if (!(named && *named) && !home)
    throw file_load_error("codelets are kept in $IPULSE_CACHE or ~/.cache/ipulse: set IPULSE_CACHE "
                          "or HOME");
  const fs::path directory =
      (named && *named ? fs::path(named) : fs::path(home) / ".cache" / "ipulse") / "codelets";
  fs::create_directories(directory);
  return directory;
}

/// Returns the file of that hash. `write` writes it under another name first, so that another
/// process sees none or all of it.
std::string cached(const std::string &hash, const std::function<void(const std::string &)> &write) {
  const fs::path target = cacheDirectory() / (hash + ".gp");
  // After a crash, part of the file may exist.
  if (!fs::exists(target) || isCutShort(target.string())) {
    const popc::ScratchDirectory scratch(cacheDirectory().string());
    const std::string partial = scratch.file("partial.gp");
    write(partial);
    fs::rename(partial, target);
  }
  return target.string();
}

/// Finds a codelet file: by the given path, else in a directory of $IPULSE_EMULATOR_CODELETS.
std::string located(const std::string &path) {
  const char *named = std::getenv("IPULSE_EMULATOR_CODELETS");
  if (!named || fs::exists(path) || fs::path(path).is_absolute())
    return path;
  std::istringstream directories(named);
  for (std::string directory; std::getline(directories, directory, ':');)
    if (fs::exists(fs::path(directory) / path))
      return (fs::path(directory) / path).string();
  return path;
}

void checkSource(const std::string &path, CodeletFileType type) {
  if (type == CodeletFileType::AsmSource || type == CodeletFileType::PreprocessedAsmSource ||
      type == CodeletFileType::IrSource)
    throw file_load_error("'" + path + "' is assembly, and " + popc::kNoAssembly);
  if (!fs::exists(path))
    throw file_load_error("codelet file '" + path + "' does not exist");
}

} // namespace

std::string cachedCodelets(const std::vector<std::string> &given, CodeletFileType type,
                           StringRef compileFlags, std::ostream &compileOutput) {
  std::vector<std::string> sources;
  for (const std::string &source : given) {
    sources.push_back(located(source));
    checkSource(sources.back(), type);
    log(LogModule::Codelets, LogLevel::Info, "codelets of ", sources.back());
  }
  try {
    const std::vector<std::string> flags = popc::splitFlags(compileFlags);
    return cached(hashOf(popc::fingerprint(sources, flags)), [&](const std::string &path) {
      const std::string warning = popc::compileCodelets(sources, flags, path);
      if (!warning.empty())
        log(LogModule::Codelets, LogLevel::Warn, sources[0], ": ", warning);
    });
  } catch (const popc::CompileError &error) {
    compileOutput << error.output;
    throw link_error(std::string(error.what()) + "\n" + error.output, error.output);
  }
}

std::string cachedCodeletText(const std::string &text, CodeletFileType type, StringRef compileFlags,
                              std::ostream &compileOutput) {
  // The same text always has the same file, and so the same fingerprint.
  const fs::path source = cacheDirectory() / (hashOf(text) + getExtensionFromFileType(type));
  if (!fs::exists(source)) {
    const popc::ScratchDirectory scratch(cacheDirectory().string());
    popc::writeFile(scratch.file("text"), text);
    fs::rename(scratch.file("text"), source);
  }
  return cachedCodelets({source.string()}, type, compileFlags, compileOutput);
}

std::string cachedObject(const std::string &given) {
  const std::string path = located(given);
  if (!fs::exists(path))
    throw file_load_error("codelet file '" + path + "' does not exist: popc makes it of a .cpp");
  if (isCutShort(path))
    throw file_load_error("codelet file '" + path + "' is cut short: let popc make it again");
  // dlopen identifies a file by its path, so that a rewritten file needs another path.
  return cachedBytes(popc::readFile(path));
}

std::string cachedBytes(const std::string &bytes) {
  return cached(hashOf(bytes), [&](const std::string &path) { popc::writeFile(path, bytes); });
}

} // namespace poplar::emulator
