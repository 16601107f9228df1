#ifndef popnn_Rnn_hpp
#define popnn_Rnn_hpp

#include <functional>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poputil/DebugInfo.hpp>

namespace popnn {
namespace rnn {

/// The shape of a recurrent layer.
struct RnnParams {
  poplar::Type dataType;
  std::size_t batchSize;
  std::size_t maxTimeSteps;
  std::size_t timeSteps; ///< deprecated: maxTimeSteps
  poplar::Tensor varTimeSteps;
  std::vector<std::size_t> layerSizes; ///< at least two: of the input and of the output

  RnnParams();
  RnnParams(poplar::Type dataType, std::size_t batchSize, std::size_t timeSteps,
            std::vector<std::size_t> layerSizes);
  RnnParams(poplar::Type dataType, std::size_t batchSize, std::size_t maxTimeSteps,
            const poplar::Tensor &varTimeSteps, std::vector<std::size_t> layerSizes);

  std::size_t getMaxShards(const poplar::Graph &graph) const;
  std::size_t getInputBytesPerTile(const poplar::Graph &graph) const;
  std::size_t getOutputBytesPerTile(const poplar::Graph &graph) const;
  bool variableTimeSteps() const { return varTimeSteps.valid(); }
  bool batchVariableTimeSteps() const { return variableTimeSteps() && varTimeSteps.dim(0) > 1; }
};

/// [multiple, batch, size]
poplar::Tensor createInitialState(poplar::Graph &graph, const RnnParams &params, bool isOutput,
                                  unsigned multiple, unsigned numShards,
                                  const poplar::DebugContext &debugContext = {});
/// [time, batch, size]
poplar::Tensor createRecurrentTensor(poplar::Graph &graph, const RnnParams &params, unsigned size,
                                     unsigned numShards,
                                     const poplar::DebugContext &debugContext = {});
poplar::Tensor createInputTensor(poplar::Graph &graph, const RnnParams &params, unsigned numShards,
                                 const poplar::DebugContext &debugContext = {});
poplar::Tensor createOutputTensor(poplar::Graph &graph, const RnnParams &params, unsigned numShards,
                                  const poplar::DebugContext &debugContext = {});
/// [multiple * time, batch, size]
poplar::Tensor createOutputTensor(poplar::Graph &graph, const RnnParams &params, unsigned multiple,
                                  unsigned numShards,
                                  const poplar::DebugContext &debugContext = {});
/// Returns tBase shifted by one step, with tSingle in front; the last step is dropped.
poplar::Tensor shiftRnnTensor(poplar::Graph &graph, const RnnParams &params,
                              const poplar::Tensor &tBase, const poplar::Tensor &tSingle,
                              poplar::program::Sequence &prog, unsigned numShards,
                              const poplar::DebugContext &debugContext = {});

/// The inputs and outputs of one time step of the loop.
struct RnnSlice {
  std::vector<poplar::Tensor> inputs; ///< [batch, size]
  poplar::Tensor interimIn;
  poplar::Tensor interimOut;
  std::vector<poplar::Tensor> outputs; ///< [multiple, batch, size], for the body to write
};

/// For time steps that vary by sample: [batch, 1] of the layer's type [M], to be used by the body.
struct RnnBatchwiseFlags {
  poplar::Tensor mask;    ///< 1 for samples that have this step
  poplar::Tensor inverse; ///< 1 for those that have it not
  bool valid() const { return mask.valid(); }
};

struct TimeStepState {
  poplar::Tensor begin;   ///< [1]: first step of the shard
  poplar::Tensor counter; ///< [1]: step within the shard
  poplar::Tensor variableSeqFlag;
};

/// Receives the states of all steps; none if output is default-constructed.
struct StateSequence {
  poplar::Tensor output;
  std::size_t stateIndex;
};

/// Creates the program of one time step. It updates the tensors of `state` in place. initProg runs
/// once, before the loop.
using LoopBodyType = std::function<poplar::program::Sequence(
    poplar::Graph &graph, const TimeStepState &timeState, const RnnBatchwiseFlags &batchwiseFlags,
    std::vector<poplar::Tensor> &state, const RnnSlice &slice, std::vector<poplar::Tensor> &created,
    poplar::program::Sequence *initProg, const poplar::DebugNameAndId &dnai)>;

/// Runs loopFn over the time steps; the final states. Shards are a choice of tiles: the emulator
/// runs one loop whatever numShards says. Of varTimeSteps [1] or [batch], UNSIGNED_INT or INT, as
/// many steps as the largest says are run, or in reverse from the last of these; what belongs to
/// the others is not written.
std::vector<poplar::Tensor>
Rnn(poplar::Graph &graph, const RnnParams &params, bool reverse,
    const std::vector<poplar::Tensor> &initState, const StateSequence &stateSequence,
    const std::vector<poplar::Tensor> &inputs, const poplar::Tensor *interimIn,
    poplar::Tensor *interimOut, const std::vector<poplar::Tensor> &outputs,
    const std::vector<poplar::Tensor> &created, poplar::program::Sequence &prog,
    const LoopBodyType &loopFn, unsigned numShards, poplar::OptionFlags &options,
    const poplar::DebugContext &debugContext = {});

/// Makes the program that is run once for some steps together [I]: of slice, inputs[i] is
/// [stepsPerGather * batch, size], interimIn [stepsPerGather, ...] what the loop read there, and
/// outputs[i] [stepsPerGather, ...] what loopFn left in created[i] at each of these steps. It is
/// asked again where stepsPerGather does not divide the time steps, for those that remain.
using GatherBodyType = std::function<poplar::program::Sequence(
    poplar::Graph &graph, const RnnSlice &slice, unsigned stepsPerGather,
    poplar::program::Sequence *initProg, const poplar::DebugNameAndId &dnai)>;

/// The backward loop with work that is cheaper for several steps at once, such as a gradient of
/// weights: loopFn runs over the time steps in reverse and leaves numTemps tensors in `created`,
/// gatherFn follows each stepsPerGather steps. No varTimeSteps here [I].
std::vector<poplar::Tensor>
Rnn(poplar::Graph &graph, const RnnParams &params, const std::vector<poplar::Tensor> &initState,
    const StateSequence &stateSequence, const std::vector<poplar::Tensor> &inputs,
    const poplar::Tensor &interimIn, const unsigned numTemps, poplar::program::Sequence &prog,
    const LoopBodyType &loopFn, const std::vector<poplar::Tensor> &gatherInputs,
    const GatherBodyType &gatherFn, unsigned numShards, unsigned stepsPerGather,
    poplar::OptionFlags &options, const poplar::DebugContext &debugContext = {});

} // namespace rnn
} // namespace popnn

#endif
