#include "session.h"

#include <algorithm>
#include <cmath>

#include <poplar/exceptions.hpp>

#include "conversion.h"

namespace poplar::emulator {
namespace {

using Kind = ProgramNode::Kind;

} // namespace

StepCost Session::hostCost(std::size_t bytes) const {
  const Machine &m = compiled->graph->machine;
  StepCost cost;
  cost.sync = m.globalSyncCycles;
  cost.host = static_cast<std::uint64_t>(std::ceil(
      (m.hostLatencySeconds + static_cast<double>(bytes) / m.hostBytesPerSecond) * m.clockHz));
  return cost;
}

void Session::executeHost(Step &step) {
  const ProgramNode &node = *step.node;
  std::vector<char> bytes;
  switch (node.kind) {
  case Kind::CopyFromStream:
    bytes.resize(bytesOf(node.destination));
    streams.receive(node.text, bytes.data(), bytes.size());
    memory->scatter(node.destination.view(), bytes.data());
    break;
  case Kind::CopyToStream:
    bytes.resize(bytesOf(node.source));
    memory->gather(node.source.view(), bytes.data());
    streams.send(node.text, bytes.data(), bytes.size());
    break;
  case Kind::CallHost: {
    std::vector<std::vector<char>> inputs, outputs;
    for (const Tensor &t : node.inputs) {
      inputs.emplace_back(bytesOf(t));
      memory->gather(t.view(), inputs.back().data());
      bytes.resize(bytes.size() + inputs.back().size());
    }
    for (const Tensor &t : node.outputs)
      outputs.emplace_back(bytesOf(t));
    streams.call(node.text, inputs, outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      memory->scatter(node.outputs[i].view(), outputs[i].data());
    break;
  }
  default: {
    const bool reads = node.kind == Kind::CopyFromRemote;
    const Tensor &t = reads ? node.destination : node.source;
    const std::size_t row = streams.remoteRowBytes(node.text);
    bytes.resize(bytesOf(t));
    std::vector<std::size_t> rows{0};
    if (!node.inputs.empty()) {
      const Tensor &offset = node.inputs[0];
      std::vector<char> raw(bytesOf(offset));
      memory->gather(offset.view(), raw.data());
      rows.clear();
      for (std::size_t i = 0; i < offset.numElements(); ++i)
        rows.push_back(static_cast<std::size_t>(numberAt(offset.elementType(), raw.data(), i)));
    }
    if (!reads)
      memory->gather(t.view(), bytes.data());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      char *remote = streams.remoteRow(node.text, rows[i]);
      char *here = bytes.data() + i * row;
      std::copy_n(reads ? remote : here, row, reads ? here : remote);
    }
    if (reads)
      memory->scatter(t.view(), bytes.data());
  }
  }
  charge(step, hostCost(bytes.size()));
}

void Session::writeTensor(const std::string &handle, const void *begin, std::size_t bytes) {
  const auto found = compiled->graph->hostWrites.find(handle);
  if (found == compiled->graph->hostWrites.end())
    throw stream_connection_error("there is no host write '" + handle +
                                  "': Graph::createHostWrite makes one");
  if (!memory)
    throw runtime_error("the engine is not loaded: call Engine::load before writeTensor");
  if (bytes != bytesOf(found->second))
    throw stream_connection_error("host write '" + handle + "' takes " +
                                  std::to_string(bytesOf(found->second)) + " bytes, not " +
                                  std::to_string(bytes));
  memory->scatter(found->second.view(), begin);
}

void Session::readTensor(const std::string &handle, void *begin, std::size_t bytes) {
  const auto found = compiled->graph->hostReads.find(handle);
  if (found == compiled->graph->hostReads.end())
    throw stream_connection_error("there is no host read '" + handle +
                                  "': Graph::createHostRead makes one");
  if (!memory)
    throw runtime_error("the engine is not loaded: call Engine::load before readTensor");
  if (bytes != bytesOf(found->second))
    throw stream_connection_error("host read '" + handle + "' gives " +
                                  std::to_string(bytesOf(found->second)) + " bytes, not " +
                                  std::to_string(bytes));
  memory->gather(found->second.view(), begin);
}

} // namespace poplar::emulator
