#include "op_library.h"

#include <dlfcn.h>

#include <cstring>
#include <iostream>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <type_traits>

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

/// Calls a function of level 5. Returns false if it writes as one with six parameters, without the
/// indices of identical outputs: `found` is then as it was.
///
/// A C symbol does not show its parameters, so that the arguments must suit both forms. This relies
/// on libstdc++. The second argument is a vector for one form and a map for the other: an empty map
/// may begin with zeros (its color and its parent), which are an empty vector. The third is a map
/// for one form and a bool for the other: a map does not use its first byte, which is that of its
/// comparison, a class without data.
bool readsSeven(Metadata5 function, OpLibrary::Metadata &found, std::uint32_t inputs) {
#ifndef __GLIBCXX__
#error "readsSeven relies on the vector and the map of libstdc++"
#endif
  static_assert(std::is_empty<Aliasing::key_compare>::value, "a map's first byte is not data");
  static_assert(sizeof(Indices) == 3 * sizeof(void *) && alignof(Indices) <= alignof(Aliasing),
                "a vector is three pointers");
  static_assert(sizeof(Aliasing) == 6 * sizeof(void *),
                "a map is its comparison, color, three pointers and size");
  constexpr unsigned char kUntouched = 0xa5;
  alignas(Aliasing) unsigned char both[sizeof(Aliasing)], mapOrBool[sizeof(Aliasing)];
  Aliasing *bothAsMap = new (both) Aliasing(), *aliasing = new (mapOrBool) Aliasing();
  std::memset(both, 0, sizeof(Indices)); // the padding, too; what the map wrote here is zero
  mapOrBool[0] = kUntouched;
  OpLibrary::Metadata read;
  auto *identical = reinterpret_cast<Indices *>(both);
  function(read.allocatingIndices, *identical, *aliasing, read.isElementwise, read.isStateless,
           read.isHashable, inputs);
  const bool seven = mapOrBool[0] == kUntouched && bothAsMap->empty();
  if (seven) {
    read.identicalOutputs = std::move(*identical);
    read.aliasing = std::move(*aliasing);
    found = std::move(read);
    identical->~Indices();
  } else {
    bothAsMap->~Aliasing();
  }
  aliasing->~Aliasing();
  return seven;
}

/// Returns whether a loaded library is known to have metadata of six parameters; `add` says so.
bool isOfSix(void *library, bool add = false) {
  static std::mutex mutex;
  static std::set<void *> known; // libraries stay loaded
  const std::lock_guard<std::mutex> lock(mutex);
  if (add)
    known.insert(library);
  return known.count(library) != 0;
}

} // namespace

OpLibrary::OpLibrary(const std::string &path, const std::string &opName, std::uint32_t apiLevel,
                     std::uint32_t inputs, std::uint32_t gradientInputs)
    : path(path), opName(opName), apiLevel(apiLevel), handle(loaded(path)) {
  const auto *level = static_cast<const std::int32_t *>(symbol("custom_op_api_level", false));
  const std::int32_t found = level ? *level : 0;
  if (found != static_cast<std::int32_t>(apiLevel))
    throw std::runtime_error("Api level of module " + path + ", op name " + opName + " is " +
                             std::to_string(found) + ", expected " + std::to_string(apiLevel));
  symbol(opName, true);
  if (!isOfSix(handle)) {
    std::string six = read(opName + "_metadata", inputs, promised);
    if (gradientInputs) {
      const std::string other = read(opName + "_grad_metadata", gradientInputs, gradientPromised);
      six = six.empty() ? other : six;
    }
    if (six.empty())
      return;
    isOfSix(handle, true);
    std::cerr << "warning: " << six
              << " has six parameters, and API level 5 has seven: the second one, for the indices "
                 "of outputs that replicas have in common, is missing. All metadata of the library "
                 "are ignored; TensorFlow would read each flag as another: add the parameter "
                 "`std::vector<std::int64_t> &` after the first one\n";
  }
  promised = gradientPromised = Metadata();
}

void *OpLibrary::symbol(const std::string &name, bool required) const {
  void *found = dlsym(handle, name.c_str());
  if (!found && required)
    throw std::runtime_error("the library " + path + " has no symbol " + name);
  return found;
}

std::string OpLibrary::read(const std::string &name, std::uint32_t inputs, Metadata &found) const {
  void *function = symbol(name, false);
  if (!function)
    return "";
  if (apiLevel >= 5)
    return readsSeven(reinterpret_cast<Metadata5>(function), found, inputs) ? "" : name;
  reinterpret_cast<Metadata4>(function)(found.allocatingIndices, found.aliasing,
                                        found.isElementwise, found.isStateless, found.isHashable,
                                        inputs);
  return "";
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
