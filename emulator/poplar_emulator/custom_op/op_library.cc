#include "op_library.h"

#include <dlfcn.h>

#include <map>
#include <stdexcept>

#include "codelets/shared_object.h"

namespace custom_op {
namespace {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;

using Indices = std::vector<std::int64_t>;
using Aliasing = std::map<std::int64_t, std::int64_t>;

extern "C" {
using Build = Program (*)(Graph &, const std::vector<Tensor> &, std::vector<Tensor> &,
                          const std::string &, const std::string &);
using BuildGrad = Program (*)(Graph &, std::int64_t, const std::vector<Tensor> &,
                              const std::vector<Tensor> &, const std::vector<Tensor> &,
                              std::vector<Tensor> &, const std::string &, const std::string &);
using Allocate = Tensor (*)(Graph &, std::uint32_t, const std::vector<std::size_t> &, poplar::Type,
                            const std::string &, const std::string &);
using Metadata4 = void (*)(Indices &, Aliasing &, bool &, bool &, bool &, std::uint32_t);
using Metadata5 = void (*)(Indices &, Indices &, Aliasing &, bool &, bool &, bool &, std::uint32_t);
}

void *loaded(const std::string &path) {
  try {
    return poplar::emulator::loadedObject(path);
  } catch (const std::runtime_error &error) {
    throw std::runtime_error("the library cannot be loaded: " + std::string(error.what()));
  }
}

} // namespace

OpLibrary::OpLibrary(const std::string &path, const std::string &opName, std::uint32_t apiLevel)
    : path(path), opName(opName), apiLevel(apiLevel), handle(loaded(path)) {
  const auto *level = static_cast<const std::int32_t *>(symbol("custom_op_api_level", false));
  const std::int32_t found = level ? *level : 0;
  if (found != static_cast<std::int32_t>(apiLevel))
    throw std::runtime_error("Api level of module " + path + ", op name " + opName + " is " +
                             std::to_string(found) + ", expected " + std::to_string(apiLevel));
  symbol(opName, true);
}

void *OpLibrary::symbol(const std::string &name, bool required) const {
  void *found = dlsym(handle, name.c_str());
  if (!found && required)
    throw std::runtime_error("the library " + path + " has no symbol " + name);
  return found;
}

OpLibrary::Metadata OpLibrary::metadata(std::uint32_t inputs) const {
  return metadataOf(opName + "_metadata", inputs);
}

OpLibrary::Metadata OpLibrary::gradientMetadata(std::uint32_t inputs) const {
  return metadataOf(opName + "_grad_metadata", inputs);
}

OpLibrary::Metadata OpLibrary::metadataOf(const std::string &name, std::uint32_t inputs) const {
  Metadata found;
  void *function = symbol(name, false);
  if (!function)
    return found;
  bool &elementwise = found.isElementwise, &stateless = found.isStateless;
  if (apiLevel >= 5)
    reinterpret_cast<Metadata5>(function)(found.allocatingIndices, found.identicalOutputs,
                                          found.aliasing, elementwise, stateless, found.isHashable,
                                          inputs);
  else
    reinterpret_cast<Metadata4>(function)(found.allocatingIndices, found.aliasing, elementwise,
                                          stateless, found.isHashable, inputs);
  return found;
}

Tensor OpLibrary::allocate(Graph &graph, std::uint32_t operand,
                           const std::vector<std::size_t> &shape, poplar::Type type,
                           const std::string &attributes, const std::string &debugPrefix) const {
  return reinterpret_cast<Allocate>(symbol(opName + "_allocator", true))(
      graph, operand, shape, type, attributes, debugPrefix);
}

Program OpLibrary::build(Graph &graph, const std::vector<Tensor> &inputs,
                         std::vector<Tensor> &outputs, const std::string &attributes,
                         const std::string &debugPrefix) const {
  return reinterpret_cast<Build>(symbol(opName, true))(graph, inputs, outputs, attributes,
                                                       debugPrefix);
}

Program OpLibrary::gradient(Graph &graph, std::int64_t index, const std::vector<Tensor> &gradients,
                            const std::vector<Tensor> &inputs, const std::vector<Tensor> &results,
                            std::vector<Tensor> &outputs, const std::string &attributes,
                            const std::string &debugPrefix) const {
  return reinterpret_cast<BuildGrad>(symbol(opName + "_grad", true))(
      graph, index, gradients, inputs, results, outputs, attributes, debugPrefix);
}

} // namespace custom_op
