// Operations of a dense time step with their gradients, for comparison with the sparse ones:
// `op_name` is DenseMatmul or EmitSpikes (docs/reference/poplar_op.md).
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplin/MatMul.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <poputil/exceptions.hpp>

#include "api_level.h"
#include "exported_op.h"
#include "layout/rows.h"
#include "operands.h"
#include "words.h"

using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;

namespace {

using Tensors = std::vector<Tensor>;

void needMatrix(const char *name, const Tensor &t) {
  if (t.rank() != 2 || t.elementType() != FLOAT)
    throw poputil::poplibs_error(std::string(name) + " must be a float matrix; got " +
                                 t.elementType().toString() + " " + t.shapeToString());
}

void checkProduct(const std::string &attributes, const Tensors &inputs) {
  lif::Words(attributes, "ipulse-dense-matmul/1", {});
  if (inputs.size() != 2)
    throw poputil::poplibs_error("DenseMatmul takes spikes and weights; got " +
                                 std::to_string(inputs.size()) + " inputs");
  needMatrix("DenseMatmul: spikes", inputs[0]);
  needMatrix("DenseMatmul: weights", inputs[1]);
}

/// Inputs and attributes of EmitSpikes.
struct Emission {
  Emission(const std::string &attributes, const Tensors &inputs)
      : words(attributes, "ipulse-emit-spikes/1", {"surrogate"}, {"second_threshold"}),
        gated(words.flag("second_threshold")) {
    if (inputs.size() != 2u + gated)
      throw poputil::poplibs_error("EmitSpikes takes u, threshold, second_threshold if there is "
                                   "one; got " +
                                   std::to_string(inputs.size()) + " inputs");
    needMatrix("EmitSpikes: u", inputs[0]);
    neurons = static_cast<unsigned>(inputs[0].dim(1));
    for (std::size_t i = 1; i < inputs.size(); ++i)
      lif::checkShape("a threshold", inputs[i], {neurons});
  }
  lif::Words words;
  bool gated;
  unsigned neurons = 0;
};

} // namespace

extern "C" {

IPULSE_METADATA(DenseMatmul)
IPULSE_METADATA(DenseMatmul_grad)
IPULSE_METADATA(EmitSpikes)
IPULSE_METADATA(EmitSpikes_grad)

IPULSE_BUILD(DenseMatmul) {
  checkProduct(attributes, inputs);
  Sequence program;
  outputs.push_back(poplin::matMul(graph, inputs[0], inputs[1], program, FLOAT, "DenseMatmul"));
  return std::move(program);
}

IPULSE_GRADIENT(DenseMatmul) {
  static_cast<void>(results);
  checkProduct(attributes, inputs);
  Sequence program;
  const auto product = [&](const Tensor &a, const Tensor &b, const char *name) {
    outputs.push_back(poplin::matMul(graph, a, b, program, FLOAT, name));
  };
  product(gradients[0], inputs[1].transpose(), "DenseMatmul/bySpikes");
  product(inputs[0].transpose(), gradients[0], "DenseMatmul/byWeights");
  return std::move(program);
}

IPULSE_BUILD(EmitSpikes) {
  const Emission emission(attributes, inputs);
  const lif::Rows rows(graph, inputs[0].dim(0));
  const Tensor spikes = rows.variable(graph, emission.neurons, "spikes");
  outputs.push_back(spikes);
  return rows.execute(graph, "EmitSpikes", {{"u", inputs[0]}, {"spikes", spikes}},
                      [&](lif::NewVertex &vertex) {
                        vertex.connect("threshold", inputs[1]).set("neurons", emission.neurons);
                      });
}

IPULSE_GRADIENT(EmitSpikes) {
  static_cast<void>(results);
  const Emission emission(attributes, inputs);
  const lif::Surrogate surrogate = emission.words.surrogate();
  const std::vector<float> values =
      surrogate.table.empty() ? std::vector<float>(2, 0.0f) : surrogate.table;
  const Tensor table = graph.addConstant<float>(FLOAT, {values.size()}, values);
  graph.setTileMapping(table, 0);
  const lif::Rows rows(graph, inputs[0].dim(0));
  const Tensor byMembrane = rows.variable(graph, emission.neurons, "byMembrane");
  Sequence program;
  program.add(
      rows.execute(graph, "EmittedGradient",
                   {{"gradient", gradients[0]}, {"u", inputs[0]}, {"byMembrane", byMembrane}},
                   [&](lif::NewVertex &vertex) {
                     vertex.connect("threshold", inputs[1])
                         .connect("secondThreshold", inputs.back())
                         .connect("table", table)
                         .set("neurons", emission.neurons)
                         .set("kind", surrogate.kind)
                         .set("parameter", surrogate.parameter)
                         .set("gated", emission.gated);
                   }));
  const Tensor sum =
      popops::reduce(graph, byMembrane, {0}, popops::ReduceParams(popops::Operation::ADD), program);
  outputs = {byMembrane, popops::neg(graph, sum, program)};
  return std::move(program);
}

} // extern "C"
