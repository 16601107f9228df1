#include <iostream>
#include <sstream>

#include <poplar/Graph.hpp>

#include "codelets/codelet_cache.h"
#include "graph_state.h"

namespace poplar {
namespace {

/// Registers the vertices of a library and of those linked into it.
void addLibrary(emulator::GraphState &state, const std::string &path, const std::string &named) {
  const auto library = emulator::CodeletLibrary::load(path, named);
  for (const std::string &part : library->parts())
    addLibrary(state, emulator::cachedBytes(part), named);
  const std::string device =
      state.machine.type == TargetType::IPU ? library->device() : std::string();
  state.addLibrary(device.empty()
                       ? library
                       : emulator::CodeletLibrary::load(emulator::cachedBytes(device), named));
}

} // namespace

bool Graph::addCodelets(StringRef src, CodeletFileType type, StringRef compileFlags,
                        StringRef targetName) {
  return addCodelets(src, type, compileFlags, std::cerr, targetName);
}

bool Graph::addCodelets(StringRef src, CodeletFileType type, StringRef compileFlags,
                        std::ostream &compileOutput, StringRef) {
  const std::string path = src;
  if (type == CodeletFileType::Auto)
    type = getCodeletFileType(src);
  addLibrary(*state,
             type == CodeletFileType::Object
                 ? emulator::cachedObject(path)
                 : emulator::cachedCodelets({path}, type, compileFlags, compileOutput),
             "codelet file '" + path + "'");
  return true;
}

bool Graph::addCodelets(ArrayRef<std::string> xs, StringRef compileFlags) {
  for (const std::string &path : xs)
    addCodelets(path, CodeletFileType::Auto, compileFlags);
  return true;
}

void Graph::addCodelets(std::stringstream &stream, StringRef compileFlags, CodeletFileType type,
                        StringRef targetName) {
  addCodelets(stream, compileFlags, std::cerr, type, targetName);
}

void Graph::addCodelets(std::stringstream &stream, StringRef compileFlags,
                        std::ostream &compileOutput, CodeletFileType type, StringRef) {
  addLibrary(*state, emulator::cachedCodeletText(stream.str(), type, compileFlags, compileOutput),
             "codelets given as text");
}

bool Graph::hasCodelet(StringRef codeletName) const {
  const auto found = state->vertexTypes.find(codeletName);
  return found != state->vertexTypes.end() && found->second.table;
}

} // namespace poplar
