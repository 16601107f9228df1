#ifndef poplin_MultiConvolution_hpp
#define poplin_MultiConvolution_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <string>
#include <vector>

#include <poplin/Convolution.hpp>

namespace poplin {
/// Several independent convolutions, here one after the other.
namespace multiconv {

struct CreateTensorArgs {
  ConvParams params;
  poplar::OptionFlags options;
  std::string name;
};
struct ConvolutionArgs {
  poplar::Tensor inputs;
  poplar::Tensor weights;
  ConvParams params;
  poplar::OptionFlags options;
};
struct CalculateWeightDeltasArgs {
  poplar::Tensor zDeltas;
  poplar::Tensor activations;
  ConvParams params;
  poplar::OptionFlags options;
};
/// ScaleType: a tensor or float
template <typename ScaleType> struct ConvWeightUpdateArgs {
  poplar::Tensor zDeltas;
  poplar::Tensor weights;
  poplar::Tensor activations;
  ScaleType scale;
  ConvParams params;
  poplar::OptionFlags options;
};

inline poplar::Tensor createWeights(poplar::Graph &graph, const std::vector<CreateTensorArgs> &args,
                                    unsigned weightsIndex, const poplar::OptionFlags & = {},
                                    PlanningCache *cache = nullptr) {
  const CreateTensorArgs &own = args.at(weightsIndex);
  return poplin::createWeights(graph, own.params, own.name, own.options, cache);
}
inline poplar::Tensor createInput(poplar::Graph &graph, const std::vector<CreateTensorArgs> &args,
                                  unsigned inputIndex, const poplar::OptionFlags & = {},
                                  PlanningCache *cache = nullptr) {
  const CreateTensorArgs &own = args.at(inputIndex);
  return poplin::createInput(graph, own.params, own.name, own.options, cache);
}
inline std::vector<poplar::Tensor>
convolution(poplar::Graph &graph, const std::vector<ConvolutionArgs> &args,
            bool transposeAndFlipWeights, poplar::program::Sequence &prog,
            const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags & = {},
            PlanningCache *cache = nullptr) {
  std::vector<poplar::Tensor> outputs;
  for (const ConvolutionArgs &own : args)
    outputs.push_back(poplin::convolution(graph, own.inputs, own.weights, own.params,
                                          transposeAndFlipWeights, prog, debugContext, own.options,
                                          cache));
  return outputs;
}
inline std::vector<poplar::Tensor>
calculateWeightDeltas(poplar::Graph &graph, const std::vector<CalculateWeightDeltasArgs> &args,
                      poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext = {},
                      const poplar::OptionFlags & = {}, PlanningCache *cache = nullptr) {
  std::vector<poplar::Tensor> gradients;
  for (const CalculateWeightDeltasArgs &own : args)
    gradients.push_back(poplin::calculateWeightDeltas(
        graph, own.zDeltas, own.activations, own.params, prog, debugContext, own.options, cache));
  return gradients;
}
template <typename ScaleType>
void convolutionWeightUpdate(poplar::Graph &graph,
                             const std::vector<ConvWeightUpdateArgs<ScaleType>> &args,
                             poplar::program::Sequence &prog,
                             const poplar::DebugContext &debugContext = {},
                             const poplar::OptionFlags & = {}, PlanningCache *cache = nullptr) {
  for (const ConvWeightUpdateArgs<ScaleType> &own : args)
    poplin::convolutionWeightUpdate(graph, own.zDeltas, own.weights, own.activations, own.params,
                                    own.scale, prog, debugContext, own.options, cache);
}

} // namespace multiconv
} // namespace poplin

#endif
