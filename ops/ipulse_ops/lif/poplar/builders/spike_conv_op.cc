// `op_name="SpikeConv"`, a convolution of spikes, and its gradients.
// docs/reference/poplar_op.md lists inputs, outputs, attributes.
#include <string>
#include <vector>

#include <poplar/Graph.hpp>

#include "api_level.h"
#include "conv/conv_operands.h"
#include "exported_op.h"

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;

namespace {

lif::ConvOperands operandsOf(const std::string &attributes, const std::vector<Tensor> &inputs) {
  const lif::Words words(attributes, "ipulse-spike-conv/1", {"geometry"}, {"bias", "weights_only"});
  lif::checkNumber("SpikeConv", inputs, 3u + words.flag("bias"),
                   "kernel, ids, counts, bias if there is one");
  return {"SpikeConv", words, inputs};
}

} // namespace

extern "C" {

IPULSE_METADATA(SpikeConv)
IPULSE_METADATA(SpikeConv_grad)

IPULSE_BUILD(SpikeConv) {
  const lif::ConvOperands operands = operandsOf(attributes, inputs);
  Tensor currents;
  Program program = lif::convCurrents(graph, operands, currents);
  outputs.push_back(currents.reshape({operands.steps, operands.batch, operands.conv.neurons()}));
  return program;
}

IPULSE_GRADIENT(SpikeConv) {
  static_cast<void>(results);
  lif::needFloat("SpikeConv", inputs[1]);
  const lif::ConvOperands operands = operandsOf(attributes, inputs);
  return lif::convGradients(graph, operands, gradients[0].flatten(0, 2), outputs);
}

} // extern "C"
