#include "host_streams.h"

#include <cstring>

#include <poplar/exceptions.hpp>

namespace poplar::emulator {

HostStreams::HostStreams(const GraphState &graph) : graph(graph) {
  for (const auto &[handle, buffer] : graph.remoteBuffers)
    remotes[handle].resize(buffer.numElements() * buffer.getRepeats() *
                           sizeOf(buffer.elementType()) * graph.replicas);
}

const DataStream &HostStreams::stream(const std::string &handle) const {
  const auto found = graph.streams.find(handle);
  if (found == graph.streams.end())
    throw stream_connection_error("there is no stream '" + handle + "'");
  return found->second;
}

bool HostStreams::isBroadcast(const std::string &handle) const {
  return stream(handle).replicatedMode() == ReplicatedStreamMode::BROADCAST;
}

unsigned HostStreams::turns(const DataStream &s) const {
  return isBroadcast(s.handle()) ? 1 : graph.replicas;
}

void HostStreams::checkReplica(const std::string &handle, unsigned replica,
                               unsigned replicas) const {
  if (replica >= replicas)
    throw stream_connection_error(
        "'" + handle + "' was connected for replica " + std::to_string(replica) + ": " +
        (replicas == 1 ? "there is one, of index 0"
                       : "there are " + std::to_string(replicas) + ", counted from 0"));
}

void HostStreams::connect(const std::string &handle, void *begin, void *end) {
  const DataStream &s = stream(handle);
  const std::size_t copy = s.numElements() * sizeOf(s.elementType()) * turns(s);
  const auto bytes =
      static_cast<std::size_t>(static_cast<char *>(end) - static_cast<char *>(begin));
  if (bytes < copy || (copy && bytes % copy))
    throw stream_connection_error(
        "stream '" + handle + "' moves " + std::to_string(copy) + " bytes at a time" +
        (turns(s) == 1
             ? ""
             : ", those of " + std::to_string(graph.replicas) + " replicas one after the other,") +
        " and was connected to a buffer of " + std::to_string(bytes));
  Connection &c = connections[handle];
  c = Connection();
  c.begin = c.at = static_cast<char *>(begin);
  c.end = static_cast<char *>(end);
}

void HostStreams::connect(const std::string &handle, void *begin) {
  const DataStream &s = stream(handle);
  connect(handle, begin,
          static_cast<char *>(begin) + s.numElements() * sizeOf(s.elementType()) * turns(s));
}

void HostStreams::connect(const std::string &handle, StreamCallbackHandle callback) {
  stream(handle);
  Connection &c = connections[handle];
  c = Connection();
  c.callback.emplace(std::move(callback));
}

void HostStreams::connect(const std::string &handle, unsigned replica,
                          StreamCallbackHandle callback) {
  checkReplica(handle, replica, turns(stream(handle)));
  Connection &c = connections[handle];
  c.begin = nullptr;
  c.callbacks.erase(replica);
  c.callbacks.emplace(replica, std::move(callback));
}

void HostStreams::connectFunction(const std::string &handle, unsigned replica,
                                  HostCallbackHandle f) {
  if (!graph.hostFunctions.count(handle))
    throw stream_connection_error("there is no host function '" + handle + "'");
  checkReplica(handle, replica, graph.replicas);
  functions.insert_or_assign({handle, replica}, std::move(f));
}

StreamCallback *HostStreams::Connection::callbackOf(unsigned replica) {
  const auto own = callbacks.find(replica);
  if (own != callbacks.end())
    return &*own->second;
  return callback ? &**callback : nullptr;
}

HostStreams::Connection &HostStreams::connection(const std::string &handle, unsigned replica) {
  const auto found = connections.find(handle);
  if (found == connections.end())
    throw stream_connection_error("stream '" + handle +
                                  "' is connected to nothing: call "
                                  "connectStream before run");
  if (!found->second.begin && !found->second.callbackOf(replica))
    throw stream_connection_error("stream '" + handle + "' is connected to nothing for replica " +
                                  std::to_string(replica) +
                                  ": call connectStreamToCallback with its index before run");
  return found->second;
}

char *HostStreams::next(Connection &c, const std::string &, std::size_t bytes) {
  if (c.at == c.end)
    c.at = c.begin; // a buffer is used in a circle
  char *at = c.at;
  c.at += bytes;
  return at;
}

void HostStreams::receive(const std::string &handle, unsigned replica, void *out,
                          std::size_t bytes) {
  Connection &c = connection(handle, replica);
  StreamCallback *callback = c.callbackOf(replica);
  if (!callback) {
    std::memcpy(out, next(c, handle, bytes), bytes);
    return;
  }
  if (callback->prefetch(out) != StreamCallback::Result::Success)
    callback->fetch(out);
  callback->complete();
}

void HostStreams::send(const std::string &handle, unsigned replica, void *in, std::size_t bytes) {
  Connection &c = connection(handle, replica);
  StreamCallback *callback = c.callbackOf(replica);
  if (!callback) {
    std::memcpy(next(c, handle, bytes), in, bytes);
    return;
  }
  callback->fetch(in);
  callback->complete();
}

std::size_t HostStreams::remoteRowBytes(const std::string &handle) const {
  const RemoteBuffer &buffer = graph.remoteBuffers.at(handle);
  return buffer.numElements() * sizeOf(buffer.elementType());
}

char *HostStreams::remoteRow(const std::string &handle, std::size_t row, unsigned replica) {
  const auto found = graph.remoteBuffers.find(handle);
  if (found == graph.remoteBuffers.end())
    throw stream_connection_error("there is no remote buffer '" + handle + "'");
  if (row >= found->second.getRepeats())
    throw application_runtime_error("row " + std::to_string(row) + " of remote buffer '" + handle +
                                    "', which has " + std::to_string(found->second.getRepeats()));
  checkReplica(handle, replica, graph.replicas);
  return remotes[handle].data() +
         (replica * found->second.getRepeats() + row) * remoteRowBytes(handle);
}

void HostStreams::call(const std::string &handle, unsigned replica,
                       std::vector<std::vector<char>> &inputs,
                       std::vector<std::vector<char>> &outputs) {
  const auto found = functions.find({handle, replica});
  if (found == functions.end())
    throw stream_connection_error(
        "host function '" + handle + "' is connected to nothing" +
        (graph.replicas == 1 ? "" : " for replica " + std::to_string(replica)) +
        ": call connectHostFunction before run");
  std::vector<const void *> in;
  std::vector<void *> out;
  for (const std::vector<char> &input : inputs)
    in.push_back(input.data());
  for (std::vector<char> &output : outputs)
    out.push_back(output.data());
  (*found->second)(in, out);
}

} // namespace poplar::emulator
