#ifndef IPULSE_EMULATOR_HOST_STREAMS_H
#define IPULSE_EMULATOR_HOST_STREAMS_H

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/StreamCallback.hpp>

#include "graph_state.h"

namespace poplar::emulator {

/// What the host has connected to the streams, remote buffers and host functions of a graph.
/// Everything raises stream_connection_error for a handle that the graph does not have.
class HostStreams {
public:
  explicit HostStreams(const GraphState &graph);

  void connect(const std::string &handle, void *begin, void *end);
  void connect(const std::string &handle, void *begin);
  void connect(const std::string &handle, StreamCallbackHandle callback);
  void connectFunction(const std::string &handle, HostCallback f);

  /// The next `bytes` of a stream to the device, into `out`; and of one from the device.
  void receive(const std::string &handle, void *out, std::size_t bytes);
  void send(const std::string &handle, void *in, std::size_t bytes);
  /// Row `row` of a remote buffer.
  char *remoteRow(const std::string &handle, std::size_t row);
  std::size_t remoteRowBytes(const std::string &handle) const;
  void call(const std::string &handle, std::vector<std::vector<char>> &inputs,
            std::vector<std::vector<char>> &outputs);

private:
  struct Connection {
    char *begin = nullptr, *end = nullptr, *at = nullptr;
    std::optional<StreamCallbackHandle> callback;
  };
  Connection &connection(const std::string &handle);
  const DataStream &stream(const std::string &handle) const;
  char *next(Connection &c, const std::string &handle, std::size_t bytes);

  const GraphState &graph;
  std::map<std::string, Connection> connections;
  std::map<std::string, std::vector<char>> remotes;
  std::map<std::string, HostCallback> functions;
};

} // namespace poplar::emulator

#endif
