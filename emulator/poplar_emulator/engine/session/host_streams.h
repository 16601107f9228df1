#ifndef IPULSE_EMULATOR_HOST_STREAMS_H
#define IPULSE_EMULATOR_HOST_STREAMS_H

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/StreamCallback.hpp>

#include "graph/graph_state.h"

namespace poplar::emulator {

/// The host's connections to the streams, remote buffers and host functions of a graph. Each
/// function raises stream_connection_error for an unknown handle.
class HostStreams {
public:
  explicit HostStreams(const GraphState &graph);

  void connect(const std::string &handle, void *begin, void *end);
  void connect(const std::string &handle, void *begin);
  /// For all replicas in turn, or for one.
  void connect(const std::string &handle, StreamCallbackHandle callback);
  void connect(const std::string &handle, unsigned replica, StreamCallbackHandle callback);
  void connectFunction(const std::string &handle, unsigned replica, HostCallbackHandle f);

  /// Returns whether all replicas receive the same data, which is transferred once.
  bool isBroadcast(const std::string &handle) const;
  /// Reads the next `bytes` of a stream to the device into `out`, or writes those of a stream from
  /// the device. Replicas are served in turn.
  void receive(const std::string &handle, unsigned replica, void *out, std::size_t bytes);
  void send(const std::string &handle, unsigned replica, void *in, std::size_t bytes);
  /// Row `row` of a replica's remote buffer.
  char *remoteRow(const std::string &handle, std::size_t row, unsigned replica);
  std::size_t remoteRowBytes(const std::string &handle) const;
  void call(const std::string &handle, unsigned replica, std::vector<std::vector<char>> &inputs,
            std::vector<std::vector<char>> &outputs);

private:
  struct Connection {
    char *begin = nullptr, *end = nullptr, *at = nullptr;
    std::map<unsigned, StreamCallbackHandle> callbacks; // by replica
    std::optional<StreamCallbackHandle> callback;       // of those that have none of their own
    /// Null if a buffer is connected.
    StreamCallback *callbackOf(unsigned replica);
  };
  Connection &connection(const std::string &handle, unsigned replica);
  const DataStream &stream(const std::string &handle) const;
  /// Returns in how many pieces a copy of the stream moves.
  unsigned turns(const DataStream &s) const;
  void checkReplica(const std::string &handle, unsigned replica, unsigned replicas) const;
  char *next(Connection &c, const std::string &handle, std::size_t bytes);

  const GraphState &graph;
  std::map<std::string, Connection> connections;
  std::map<std::string, std::vector<char>> remotes; // of all replicas, one after the other
  std::map<std::pair<std::string, unsigned>, HostCallbackHandle> functions; // and replica
};

} // namespace poplar::emulator

#endif
