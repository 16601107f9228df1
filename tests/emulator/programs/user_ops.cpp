// Small custom ops of TensorFlow, honest ones and others: what their metadata promise is by name.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <popops/ElementWise.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using namespace poplar::program;

using Tensors = std::vector<Tensor>;
using Aliasing = std::map<std::int64_t, std::int64_t>;

namespace {

/// 2 x as the output, on the tiles of x.
Program twice(Graph &graph, const Tensors &inputs, Tensors &outputs) {
  Sequence program;
  const Tensor two = graph.addConstant(FLOAT, {}, 2.0f, "two");
  graph.setTileMapping(two, 0);
  outputs.push_back(graph.clone(inputs[0], "twice"));
  program.add(Copy(inputs[0], outputs[0]));
  popops::mulInPlace(graph, outputs[0], two, program);
  return program;
}

/// 2 x and, of every row, a one of that type.
Program counted(Graph &graph, const Tensors &inputs, Tensors &outputs, const Type &type) {
  Sequence program({twice(graph, inputs, outputs)});
  outputs.push_back(graph.addVariable(type, {inputs[0].dim(0), 1}, "number"));
  poputil::mapTensorLinearly(graph, outputs[1]);
  const Tensor one = graph.addConstant(type, {inputs[0].dim(0), 1}, 1, "one");
  graph.setTileMapping(one, 0);
  program.add(Copy(one, outputs[1]));
  return program;
}

} // namespace

extern "C" {

std::int32_t custom_op_api_level = 5;

#define OP(NAME)                                                                                   \
  Program NAME(Graph &graph, const Tensors &inputs, Tensors &outputs, const std::string &,         \
               const std::string &)
#define METADATA(NAME)                                                                             \
  void NAME##_metadata(std::vector<std::int64_t> &, std::vector<std::int64_t> &identical,          \
                       Aliasing &aliasing, bool &elementwise, bool &stateless, bool &hashable,     \
                       std::uint32_t)
#define PROMISES(NAME, PROMISE)                                                                    \
  METADATA(NAME) {                                                                                 \
    identical.clear();                                                                             \
    aliasing.clear();                                                                              \
    elementwise = stateless = hashable = false;                                                    \
    PROMISE;                                                                                       \
  }

OP(Elementwise) { return twice(graph, inputs, outputs); }
PROMISES(Elementwise, elementwise = true)

// Six parameters: the form of level 4 in a library of level 5.
#define SIX_PARAMETERS(NAME, PROMISE)                                                              \
  OP(NAME) {                                                                                       \
    const Program program = twice(graph, inputs, outputs);                                         \
    graph.setTileMapping(outputs[0], 3);                                                           \
    return program;                                                                                \
  }                                                                                                \
  void NAME##_metadata(std::vector<std::int64_t> &indices, Aliasing &aliasing, bool &elementwise,  \
                       bool &stateless, bool &hashable, std::uint32_t) {                           \
    indices.clear();                                                                               \
    aliasing.clear();                                                                              \
    elementwise = stateless = hashable = false;                                                    \
    PROMISE;                                                                                       \
  }
SIX_PARAMETERS(SixFlags, stateless = true)
SIX_PARAMETERS(SixAliases, aliasing[0] = 0)

// Six parameters in both, of which those of the gradient are not recognised: is_stateless arrives
// as is_elementwise, which would not hold.
SIX_PARAMETERS(SixOfGradient, stateless = true)
Program SixOfGradient_grad(Graph &graph, std::int64_t, const std::vector<Tensor> &gradients,
                           const std::vector<Tensor> &, const std::vector<Tensor> &,
                           std::vector<Tensor> &outputs, const std::string &, const std::string &) {
  const Program program = twice(graph, gradients, outputs);
  graph.setTileMapping(outputs[0], 3);
  return program;
}
void SixOfGradient_grad_metadata(std::vector<std::int64_t> &, Aliasing &, bool &, bool &stateless,
                                 bool &, std::uint32_t) {
  stateless = true;
}

OP(OtherTile) {
  const Program program = twice(graph, inputs, outputs);
  graph.setTileMapping(outputs[0], 3);
  return program;
}
PROMISES(OtherTile, elementwise = true)

OP(OtherShape) {
  const Program program = twice(graph, inputs, outputs);
  outputs[0] = outputs[0].transpose();
  return program;
}
PROMISES(OtherShape, elementwise = true)

OP(InPlace) {
  Sequence program;
  popops::addInPlace(graph, inputs[0], inputs[0], program);
  outputs.push_back(inputs[0]);
  return program;
}
PROMISES(InPlace, (aliasing = {{0, 0}}))

OP(SecretlyInPlace) {
  const Program program = twice(graph, inputs, outputs);
  return Sequence({program, Copy(outputs[0], inputs[0])});
}
PROMISES(SecretlyInPlace, )

OP(NoAlias) { return twice(graph, inputs, outputs); }
PROMISES(NoAlias, (aliasing = {{0, 0}}))

OP(OutOfRange) { return twice(graph, inputs, outputs); }
PROMISES(OutOfRange, identical = {1})

// Wrong in one way each: found while the op is built, while it is compiled, while it runs.
OP(OutOfBounds) {
  outputs.push_back(inputs[0].slice(2, 9));
  return Sequence();
}
OP(Unmapped) {
  outputs.push_back(graph.addVariable(FLOAT, inputs[0].shape(), "lost"));
  return Copy(inputs[0], outputs[0]);
}
OP(Aborting) {
  const Program program = twice(graph, inputs, outputs);
  return Sequence({program, Abort("no further")});
}

// a + 2 b, with a separate gradient op for each input: that of input 1 is known by its index.
OP(Sum) {
  Sequence program({twice(graph, {inputs[1]}, outputs)});
  popops::addInPlace(graph, outputs[0], inputs[0], program);
  return program;
}
Program Sum_grad(Graph &graph, std::int64_t index, const Tensors &gradients, const Tensors &,
                 const Tensors &, Tensors &outputs, const std::string &, const std::string &) {
  if (index == 1)
    return twice(graph, gradients, outputs);
  outputs.push_back(graph.clone(gradients[0], "same"));
  return Copy(gradients[0], outputs[0]);
}

// Ids as float and their number: as a whole number, as one writes it first, and as float.
OP(WholeCount) { return counted(graph, inputs, outputs, INT); }
Program WholeCount_grad(Graph &graph, std::int64_t, const Tensors &gradients, const Tensors &,
                        const Tensors &, Tensors &outputs, const std::string &,
                        const std::string &) {
  return twice(graph, gradients, outputs);
}
OP(FloatCount) { return counted(graph, inputs, outputs, FLOAT); }
Program FloatCount_grad(Graph &graph, std::int64_t, const Tensors &gradients, const Tensors &,
                        const Tensors &, Tensors &outputs, const std::string &,
                        const std::string &) {
  return twice(graph, gradients, outputs);
}

} // extern "C"
