// Part of Lstm.hpp and Gru.hpp; not a header of the SDK.
#ifndef popnn_RecurrentLayer_hpp
#define popnn_RecurrentLayer_hpp

#include <vector>

#include <popnn/NonLinearityDef.hpp>
#include <popnn/Rnn.hpp>

namespace popnn {
namespace rnn {

/// The common part of LstmParams and GruParams: the shape of a layer and its options.
struct RecurrentLayer {
  RnnParams rnn;
  poplar::Type dataType;               ///< deprecated: rnn.dataType
  std::size_t batchSize = 0;           ///< deprecated: rnn.batchSize
  std::size_t timeSteps = 0;           ///< deprecated: rnn.maxTimeSteps
  std::vector<std::size_t> layerSizes; ///< deprecated: rnn.layerSizes
  bool outputFullSequence = true;      ///< else the output is that of the last step
  bool calcInputGradients = true;
  NonLinearityType activation = NonLinearityType::TANH;
  NonLinearityType recurrentActivation = NonLinearityType::SIGMOID;

  RecurrentLayer() = default;
  RecurrentLayer(poplar::Type dataType, std::size_t batchSize, std::size_t timeSteps,
                 std::vector<std::size_t> layerSizes,
                 NonLinearityType activation = NonLinearityType::TANH,
                 NonLinearityType recurrentActivation = NonLinearityType::SIGMOID)
      : rnn(dataType, batchSize, timeSteps, layerSizes), dataType(dataType), batchSize(batchSize),
        timeSteps(timeSteps), layerSizes(std::move(layerSizes)), activation(activation),
        recurrentActivation(recurrentActivation) {}
  /// timeSteps: [1], or [batch] for a number of steps by sample. Outputs after a sample's last step
  /// are 0, and its state stays [M]. The emulator runs all steps whatever the numbers are.
  RecurrentLayer(poplar::Type dataType, std::size_t batchSize, std::size_t maxTimeSteps,
                 const poplar::Tensor &timeSteps, std::vector<std::size_t> layerSizes,
                 NonLinearityType activation = NonLinearityType::TANH,
                 NonLinearityType recurrentActivation = NonLinearityType::SIGMOID)
      : RecurrentLayer(dataType, batchSize, maxTimeSteps, std::move(layerSizes), activation,
                       recurrentActivation) {
    rnn.varTimeSteps = timeSteps;
  }
};

} // namespace rnn
} // namespace popnn

#endif
