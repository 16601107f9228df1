#ifndef poplar_DataStream_hpp
#define poplar_DataStream_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstddef>
#include <string>

#include <poplar/ReplicatedStreamMode.hpp>
#include <poplar/Type.hpp>

namespace poplar {

enum class DataStreamType { HostToDeviceFIFO, DeviceToHostFIFO };

/// A queue between host and device. Every copy moves `numElements()` elements: separate data for
/// each replica, in their order, or the same for all (BROADCAST).
class DataStream {
public:
  DataStream() = default;
  DataStream(std::string handle, poplar::Type elementType, std::size_t size, DataStreamType type,
             unsigned replicas = 1, ReplicatedStreamMode mode = ReplicatedStreamMode::REPLICATE)
      : name(std::move(handle)), element(elementType), size(size), direction(type),
        replicas(replicas), mode(mode) {}
  const std::string &handle() const { return name; }
  std::size_t numElements() const { return size; }
  unsigned replicationFactor() const { return replicas; }
  ReplicatedStreamMode replicatedMode() const { return mode; }
  poplar::Type elementType() const { return element; }
  DataStreamType type() const { return direction; }
  bool valid() const { return !name.empty(); }

private:
  std::string name;
  poplar::Type element;
  std::size_t size = 0;
  DataStreamType direction = DataStreamType::HostToDeviceFIFO;
  unsigned replicas = 1;
  ReplicatedStreamMode mode = ReplicatedStreamMode::REPLICATE;
};
inline bool operator==(const DataStream &a, const DataStream &b) {
  return a.handle() == b.handle();
}

/// Host memory that programs read and write in rows of `numElements()` elements.
class RemoteBuffer {
public:
  RemoteBuffer() = default;
  RemoteBuffer(std::string handle, poplar::Type elementType, std::size_t numElements,
               std::size_t repeats)
      : name(std::move(handle)), element(elementType), size(numElements), rows(repeats) {}
  const std::string &handle() const { return name; }
  std::size_t numElements() const { return size; }
  std::size_t getRepeats() const { return rows; }
  poplar::Type elementType() const { return element; }
  bool isRearrangeOnHost() const { return false; }
  bool valid() const { return !name.empty(); }

private:
  std::string name;
  poplar::Type element;
  std::size_t size = 0, rows = 0;
};

} // namespace poplar

#endif
