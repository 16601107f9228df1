#include "session.h"

#include <algorithm>
#include <cmath>

#include <poplar/exceptions.hpp>

#include "codelets/conversion.h"
#include "engine_options.h"

namespace poplar::emulator {
namespace {

using Kind = ProgramNode::Kind;

} // namespace

StepCost moveCost(const Compiled &compiled, const ProgramNode &node) {
  StepCost cost;
  cost.exchange = compiled.copies.at(&node).cycles;
  cost.bytesBetweenIpus = compiled.copies.at(&node).bytesBetweenIpus;
  cost.compute = compiled.copyCycles.at(&node);
  // One sync before moves within tiles, and one before the exchange between them.
  cost.sync = std::uint64_t{compiled.graph->machine.syncCycles} *
              std::max(1, (cost.compute != 0) + (cost.exchange != 0));
  return cost;
}

StepCost Session::hostCost(std::size_t bytes) const {
  const Machine m = withHostLink(compiled->graph->machine, compiled->options);
  StepCost cost;
  cost.sync = m.globalSyncCycles;
  cost.host = static_cast<std::uint64_t>(std::ceil(
      (m.hostLatencySeconds + static_cast<double>(bytes) / m.hostBytesPerSecond) * m.clockHz));
  return cost;
}

void Session::executeHost(Step &step) {
  checkTogether(step);
  const ProgramNode &node = *step.node;
  std::size_t moved = 0; // of all replicas, which share the connection to the host
  std::vector<char> bytes;
  for (const unsigned replica : active) {
    switch (node.kind) {
    case Kind::CopyFromStream:
      bytes.resize(bytesOf(node.destination));
      if (replica == 0 || !streams.isBroadcast(node.text))
        streams.receive(node.text, replica, bytes.data(), bytes.size());
      memories[replica]->scatter(node.destination.view(), bytes.data());
      moved += bytes.size();
      break;
    case Kind::CopyToStream:
      bytes.resize(bytesOf(node.source));
      memories[replica]->gather(node.source.view(), bytes.data());
      streams.send(node.text, replica, bytes.data(), bytes.size());
      moved += bytes.size();
      break;
    case Kind::CallHost:
      callHost(node, replica, moved);
      break;
    default:
      copyRemote(node, replica, moved);
    }
  }
  StepCost cost = hostCost(moved);
  const bool enters = node.kind == Kind::CopyFromStream || node.kind == Kind::CopyFromRemote;
  (enters ? cost.bytesFromHost : cost.bytesToHost) = moved / active.size();
  chargeTogether(step, cost);
}

void Session::callHost(const ProgramNode &node, unsigned replica, std::size_t &moved) {
  MemoryImage &memory = *memories[replica];
  std::vector<std::vector<char>> inputs, outputs;
  for (const Tensor &t : node.inputs) {
    inputs.emplace_back(bytesOf(t));
    memory.gather(t.view(), inputs.back().data());
    moved += inputs.back().size();
  }
  for (const Tensor &t : node.outputs)
    outputs.emplace_back(bytesOf(t));
  streams.call(node.text, replica, inputs, outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    memory.scatter(node.outputs[i].view(), outputs[i].data());
}

void Session::copyRemote(const ProgramNode &node, unsigned replica, std::size_t &moved) {
  MemoryImage &memory = *memories[replica];
  const bool reads = node.kind == Kind::CopyFromRemote;
  const Tensor &t = reads ? node.destination : node.source;
  const std::size_t row = streams.remoteRowBytes(node.text);
  std::vector<char> bytes(bytesOf(t));
  std::vector<std::size_t> rows{0};
  if (!node.inputs.empty()) {
    const Tensor &offset = node.inputs[0];
    std::vector<char> raw(bytesOf(offset));
    memory.gather(offset.view(), raw.data());
    rows.clear();
    for (std::size_t i = 0; i < offset.numElements(); ++i)
      rows.push_back(static_cast<std::size_t>(numberAt(offset.elementType(), raw.data(), i)));
  }
  if (!reads)
    memory.gather(t.view(), bytes.data());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    char *remote = streams.remoteRow(node.text, rows[i], replica);
    char *here = bytes.data() + i * row;
    std::copy_n(reads ? remote : here, row, reads ? here : remote);
  }
  if (reads)
    memory.scatter(t.view(), bytes.data());
  moved += bytes.size();
}

const Tensor &Session::hostTensor(const std::map<std::string, Tensor> &handles,
                                  const std::string &handle, bool writes, std::size_t bytes,
                                  std::optional<unsigned> replica) const {
  const std::string kind = writes ? "host write" : "host read";
  const auto found = handles.find(handle);
  if (found == handles.end())
    throw stream_connection_error("there is no " + kind + " '" + handle + "': Graph::create" +
                                  (writes ? "HostWrite" : "HostRead") + " makes one");
  if (!loaded())
    throw runtime_error("the engine is not loaded: call Engine::load before " +
                        std::string(writes ? "writeTensor" : "readTensor"));
  const std::size_t replicas = memories.size(), one = bytesOf(found->second);
  if (replica && *replica >= replicas)
    throw stream_connection_error(kind + " '" + handle + "' of replica " +
                                  std::to_string(*replica) + ": the graph has " +
                                  std::to_string(replicas) + ", counted from 0");
  const std::size_t wanted = replica ? one : one * replicas;
  if (bytes == wanted)
    return found->second;
  throw stream_connection_error(
      kind + " '" + handle + (writes ? "' takes " : "' gives ") + std::to_string(wanted) +
      " bytes, not " + std::to_string(bytes) +
      (replica || replicas == 1
           ? ""
           : ": those of " + std::to_string(replicas) +
                 " replicas, one after the other; with the number of a replica, its own"));
}

void Session::writeTensor(const std::string &handle, const void *begin, std::size_t bytes,
                          std::optional<unsigned> replica) {
  const Tensor &t = hostTensor(compiled->graph->hostWrites, handle, true, bytes, replica);
  const char *from = static_cast<const char *>(begin);
  for (unsigned r = replica.value_or(0); r <= replica.value_or(memories.size() - 1); ++r) {
    memories[r]->scatter(t.view(), from);
    from += bytesOf(t);
  }
}

void Session::readTensor(const std::string &handle, void *begin, std::size_t bytes,
                         std::optional<unsigned> replica) {
  const Tensor &t = hostTensor(compiled->graph->hostReads, handle, false, bytes, replica);
  char *to = static_cast<char *>(begin);
  for (unsigned r = replica.value_or(0); r <= replica.value_or(memories.size() - 1); ++r) {
    memories[r]->gather(t.view(), to);
    to += bytesOf(t);
  }
}

} // namespace poplar::emulator
