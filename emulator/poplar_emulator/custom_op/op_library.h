#ifndef IPULSE_EMULATOR_OP_LIBRARY_H
#define IPULSE_EMULATOR_OP_LIBRARY_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace custom_op {

/// The library of a custom op and the symbols of one op in it. The rules are TensorFlow's, from its
/// public sources (user_op_hlo.cc, kernels/poputil/user_operation.cc of 2.6).
class OpLibrary {
public:
  struct Metadata {
    std::vector<std::int64_t> allocatingIndices, identicalOutputs;
    std::map<std::int64_t, std::int64_t> aliasing; // inputs to outputs
    bool isElementwise = false, isStateless = false, isHashable = false;
  };
  /// Opens the library and reads the metadata of the op and, if one is taken, of its gradient, each
  /// with its number of inputs; 0 gradientInputs: none is taken. If one of them is found to have
  /// the six parameters of level 4, both are ignored with a warning, and so is all metadata that is
  /// read from this library later. Raises std::runtime_error if the library lacks the API level or
  /// the symbol.
  OpLibrary(const std::string &path, const std::string &opName, std::uint32_t apiLevel,
            std::uint32_t inputs, std::uint32_t gradientInputs);

  /// Returns false and empty fields if the library defines no metadata.
  const Metadata &metadata() const { return promised; }
  const Metadata &gradientMetadata() const { return gradientPromised; }

  poplar::Tensor allocate(poplar::Graph &graph, std::uint32_t operand,
                          const std::vector<std::size_t> &shape, poplar::Type type,
                          const std::string &attributes, const std::string &debugPrefix) const;
  poplar::program::Program build(poplar::Graph &graph, const std::vector<poplar::Tensor> &inputs,
                                 std::vector<poplar::Tensor> &outputs,
                                 const std::string &attributes,
                                 const std::string &debugPrefix) const;
  poplar::program::Program
  gradient(poplar::Graph &graph, std::int64_t index, const std::vector<poplar::Tensor> &gradients,
           const std::vector<poplar::Tensor> &inputs, const std::vector<poplar::Tensor> &results,
           std::vector<poplar::Tensor> &outputs, const std::string &attributes,
           const std::string &debugPrefix) const;

private:
  void *symbol(const std::string &name, bool required) const;
  /// Returns the name of the function if it has six parameters and the level says seven, else "".
  std::string read(const std::string &name, std::uint32_t inputs, Metadata &found) const;
  std::string path, opName;
  std::uint32_t apiLevel;
  Metadata promised, gradientPromised;
  void *handle; // stays open: the graph's programs may use its code
};

} // namespace custom_op

#endif
