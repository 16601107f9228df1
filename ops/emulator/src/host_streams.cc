#include "host_streams.h"

#include <cstring>

#include <poplar/exceptions.hpp>

namespace poplar::emulator {

HostStreams::HostStreams(const GraphState &graph) : graph(graph) {
  for (const auto &[handle, buffer] : graph.remoteBuffers)
    remotes[handle].resize(buffer.numElements() * buffer.getRepeats() *
                           sizeOf(buffer.elementType()));
}

const DataStream &HostStreams::stream(const std::string &handle) const {
  const auto found = graph.streams.find(handle);
  if (found == graph.streams.end())
    throw stream_connection_error("there is no stream '" + handle + "'");
  return found->second;
}

void HostStreams::connect(const std::string &handle, void *begin, void *end) {
  const DataStream &s = stream(handle);
  const std::size_t copy = s.numElements() * sizeOf(s.elementType());
  const auto bytes =
      static_cast<std::size_t>(static_cast<char *>(end) - static_cast<char *>(begin));
  if (bytes < copy || (copy && bytes % copy))
    throw stream_connection_error("stream '" + handle + "' moves " + std::to_string(copy) +
                                  " bytes at a time and was connected to a buffer of " +
                                  std::to_string(bytes));
  Connection &c = connections[handle];
  c = Connection();
  c.begin = c.at = static_cast<char *>(begin);
  c.end = static_cast<char *>(end);
}

void HostStreams::connect(const std::string &handle, void *begin) {
  const DataStream &s = stream(handle);
  connect(handle, begin, static_cast<char *>(begin) + s.numElements() * sizeOf(s.elementType()));
}

void HostStreams::connect(const std::string &handle, StreamCallbackHandle callback) {
  stream(handle);
  Connection &c = connections[handle];
  c = Connection();
  c.callback.emplace(std::move(callback));
}

void HostStreams::connectFunction(const std::string &handle, HostCallback f) {
  if (!graph.hostFunctions.count(handle))
    throw stream_connection_error("there is no host function '" + handle + "'");
  functions[handle] = std::move(f);
}

HostStreams::Connection &HostStreams::connection(const std::string &handle) {
  const auto found = connections.find(handle);
  if (found == connections.end())
    throw stream_connection_error("stream '" + handle +
                                  "' is connected to nothing: call "
                                  "connectStream before run");
  return found->second;
}

char *HostStreams::next(Connection &c, const std::string &, std::size_t bytes) {
  if (c.at == c.end)
    c.at = c.begin; // a buffer is used in a circle
  char *at = c.at;
  c.at += bytes;
  return at;
}

void HostStreams::receive(const std::string &handle, void *out, std::size_t bytes) {
  Connection &c = connection(handle);
  if (!c.callback) {
    std::memcpy(out, next(c, handle, bytes), bytes);
    return;
  }
  StreamCallback &callback = **c.callback;
  if (callback.prefetch(out) != StreamCallback::Result::Success)
    callback.fetch(out);
  callback.complete();
}

void HostStreams::send(const std::string &handle, void *in, std::size_t bytes) {
  Connection &c = connection(handle);
  if (!c.callback) {
    std::memcpy(next(c, handle, bytes), in, bytes);
    return;
  }
  (*c.callback)->fetch(in);
  (*c.callback)->complete();
}

std::size_t HostStreams::remoteRowBytes(const std::string &handle) const {
  const RemoteBuffer &buffer = graph.remoteBuffers.at(handle);
  return buffer.numElements() * sizeOf(buffer.elementType());
}

char *HostStreams::remoteRow(const std::string &handle, std::size_t row) {
  const auto found = graph.remoteBuffers.find(handle);
  if (found == graph.remoteBuffers.end())
    throw stream_connection_error("there is no remote buffer '" + handle + "'");
  if (row >= found->second.getRepeats())
    throw application_runtime_error("row " + std::to_string(row) + " of remote buffer '" + handle +
                                    "', which has " + std::to_string(found->second.getRepeats()));
  return remotes[handle].data() + row * remoteRowBytes(handle);
}

void HostStreams::call(const std::string &handle, std::vector<std::vector<char>> &inputs,
                       std::vector<std::vector<char>> &outputs) {
  const auto found = functions.find(handle);
  if (found == functions.end())
    throw stream_connection_error("host function '" + handle +
                                  "' is connected to nothing: call "
                                  "connectHostFunction before run");
  std::vector<const void *> in;
  std::vector<void *> out;
  for (const std::vector<char> &input : inputs)
    in.push_back(input.data());
  for (std::vector<char> &output : outputs)
    out.push_back(output.data());
  found->second(in, out);
}

} // namespace poplar::emulator
