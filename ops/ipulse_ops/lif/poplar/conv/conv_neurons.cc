#include "conv_neurons.h"

#include <poputil/exceptions.hpp>

#include "builders/operands.h"
#include "codelets/conv/reset.h"
#include "layout/rows.h"

namespace lif {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;

namespace {

static_assert(unsigned(Reset::Zero) == kResetToZero && unsigned(Reset::None) == kNoReset &&
                  unsigned(Reset::Subtract) == kResetBySubtraction,
              "vertices have the numbers of network.h");
static_assert(unsigned(ResetGradient::Mask) == kResetMask &&
                  unsigned(ResetGradient::Term) == kResetTerm &&
                  unsigned(ResetGradient::None) == kResetWhole,
              "vertices have the numbers of network.h");

Words wordsOf(const std::string &attributes) {
  return {attributes,
          "ipulse-conv-lif/1",
          {"geometry", "decay", "threshold", "reset", "reset_gradient", "surrogate"},
          {"bias", "weights_only", "second_threshold"}};
}

ConvOperands operandsOf(const Words &words, const std::vector<Tensor> &inputs) {
  checkNumber("ConvLIF", inputs, 3u + words.flag("bias") + words.flag("second_threshold"),
              "kernel, ids, counts, bias and second threshold if there are any");
  return {"ConvLIF", words, inputs};
}

} // namespace

ConvNeurons::ConvNeurons(const std::string &attributes, const std::vector<Tensor> &inputs)
    : operands(operandsOf(wordsOf(attributes), inputs)) {
  const Words words = wordsOf(attributes);
  decay = static_cast<float>(words.real("decay"));
  threshold = static_cast<float>(words.real("threshold"));
  reset = static_cast<unsigned>(parseReset(words.text("reset")));
  resetGradient = static_cast<unsigned>(parseResetGradient(words.text("reset_gradient")));
  surrogate = words.surrogate();
  gated = words.flag("second_threshold");
  if (!gated)
    return;
  checkShape("second threshold", inputs.back(), {1});
  needFloat("ConvLIF", inputs.back());
  secondThreshold = inputs.back();
}

Program convNeuronSlots(Graph &graph, const ConvNeurons &neurons, const Tensor &membranes,
                        Tensor &ids, Tensor &counts) {
  const unsigned width = neurons.operands.conv.neurons();
  const Rows rows(graph, membranes.dim(0), width);
  ids = rows.variable(graph, width, "ConvLIF/ids");
  counts = rows.variable(graph, 2, "ConvLIF/counts");
  const Tensor second =
      neurons.gated ? neurons.secondThreshold : neurons.operands.kernel.slice(0, 1);
  return rows.execute(graph, "ConvNeuronSlots",
                      {{"membranes", membranes}, {"ids", ids}, {"counts", counts}},
                      [&](NewVertex &vertex) {
                        vertex.connect("secondThreshold", second)
                            .set("neurons", width)
                            .set("threshold", neurons.threshold)
                            .set("gated", neurons.gated);
                      });
}

} // namespace lif
