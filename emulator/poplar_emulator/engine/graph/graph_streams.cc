#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "graph_state.h"

namespace poplar {

DataStream Graph::addHostToDeviceFIFO(StringRef handle, const Type &elementType,
                                      std::size_t numElements, ReplicatedStreamMode replicatedMode,
                                      const OptionFlags &) {
  const DataStream stream(handle, elementType, numElements, DataStreamType::HostToDeviceFIFO,
                          state->replicas, replicatedMode);
  if (!state->streams.emplace(handle, stream).second)
    throw stream_connection_error("stream '" + handle.cloneAsString() + "' exists already");
  return stream;
}

DataStream Graph::addDeviceToHostFIFO(StringRef handle, const Type &elementType,
                                      std::size_t numElements, const OptionFlags &) {
  const DataStream stream(handle, elementType, numElements, DataStreamType::DeviceToHostFIFO,
                          state->replicas);
  if (!state->streams.emplace(handle, stream).second)
    throw stream_connection_error("stream '" + handle.cloneAsString() + "' exists already");
  return stream;
}

RemoteBuffer Graph::addRemoteBuffer(StringRef handle, const Type &elementType,
                                    std::size_t numElements, std::size_t repeats, bool, bool) {
  const RemoteBuffer buffer(handle, elementType, numElements, repeats);
  if (!state->remoteBuffers.emplace(handle, buffer).second)
    throw stream_connection_error("remote buffer '" + handle.cloneAsString() + "' exists already");
  return buffer;
}

void Graph::createHostWrite(StringRef handle, const Tensor &t, bool) {
  emulator::checkOwn(*state, t);
  if (t.containsConstant())
    throw control_program_error("host write '" + handle.cloneAsString() + "' to a constant");
  if (!state->hostWrites.emplace(handle, t).second)
    throw stream_connection_error("host write '" + handle.cloneAsString() + "' exists already");
}

void Graph::createHostRead(StringRef handle, const Tensor &t, bool) {
  emulator::checkOwn(*state, t);
  if (!state->hostReads.emplace(handle, t).second)
    throw stream_connection_error("host read '" + handle.cloneAsString() + "' exists already");
}

HostFunction Graph::addHostFunction(StringRef handle, ArrayRef<HostFunctionArgument> inputs,
                                    ArrayRef<HostFunctionArgument> outputs) {
  if (!state->hostFunctions
           .emplace(handle,
                    emulator::HostFunctionState{inputs.cloneAsVector(), outputs.cloneAsVector()})
           .second)
    throw stream_connection_error("host function '" + handle.cloneAsString() + "' exists already");
  return HostFunction(handle);
}

} // namespace poplar
