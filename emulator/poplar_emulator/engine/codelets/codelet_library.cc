#include "codelet_library.h"

#include <dlfcn.h>

#include <poplar/exceptions.hpp>

#include "popc/table_source.h"
#include "shared_object.h"

namespace poplar::emulator {
namespace {

const char *const kDescribe = "popc_describe";

} // namespace

std::shared_ptr<CodeletLibrary> CodeletLibrary::load(const std::string &path,
                                                     const std::string &named) {
  const bool isWhole = !isCutShort(path);
  if (isWhole && !(definesSymbol(path, kDescribe) && definesSymbol(path, popc::kFormat)))
    throw graph_object_load_error(named + " was not written by this emulator's popc: compile its "
                                          "codelets again");
  void *handle = nullptr;
  try {
    handle = loadedObject(path);
  } catch (const std::runtime_error &error) {
    throw graph_object_load_error(named + " cannot be loaded: " + error.what());
  }
  std::shared_ptr<CodeletLibrary> library(new CodeletLibrary());
  library->handle = handle;
  library->file = path;
  const auto describe =
      reinterpret_cast<void (*)(std::vector<field::VertexTable> &)>(dlsym(handle, kDescribe));
  describe(library->described);
  library->first = library->described.data();
  library->count = library->described.size();
  return library;
}

CodeletLibrary::CodeletLibrary(std::string name, const field::VertexTable *tables,
                               std::size_t count)
    : first(tables), count(count), file(std::move(name)) {}

std::vector<std::string> CodeletLibrary::parts() const {
  const auto partOf = reinterpret_cast<const char *(*)(std::size_t, std::size_t *)>(
      handle ? dlsym(handle, "popc_part") : nullptr);
  std::vector<std::string> all;
  std::size_t bytes = 0;
  while (const char *part = partOf ? partOf(all.size(), &bytes) : nullptr)
    all.emplace_back(part, bytes);
  return all;
}

std::string CodeletLibrary::device() const {
  const auto deviceOf = reinterpret_cast<const char *(*)(std::size_t *)>(
      handle ? dlsym(handle, "popc_device") : nullptr);
  std::size_t bytes = 0;
  const char *library = deviceOf ? deviceOf(&bytes) : nullptr;
  return library ? std::string(library, bytes) : "";
}

CodeletLibrary::~CodeletLibrary() {
  if (handle)
    dlclose(handle);
}

} // namespace poplar::emulator
