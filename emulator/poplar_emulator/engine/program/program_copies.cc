#include <poplar/Program.hpp>

#include <poplar/exceptions.hpp>

#include "program_node.h"

namespace poplar::program {

using emulator::makeNode;
using emulator::ProgramNode;
using Kind = ProgramNode::Kind;

namespace {

void checkStream(const Tensor &t, const DataStream &stream, DataStreamType direction) {
  if (stream.type() != direction)
    throw stream_connection_error("stream '" + stream.handle() + "' runs in the other direction");
  if (t.elementType() != stream.elementType() || t.numElements() != stream.numElements())
    throw stream_connection_error("stream '" + stream.handle() + "' moves " +
                                  std::to_string(stream.numElements()) + " elements of type " +
                                  stream.elementType().toString() + " and was connected to " +
                                  t.getDebugStr());
}

void checkRemote(const Tensor &t, const RemoteBuffer &buffer, std::size_t rows) {
  if (t.elementType() != buffer.elementType() || t.numElements() != rows * buffer.numElements())
    throw stream_connection_error("remote buffer '" + buffer.handle() + "' has rows of " +
                                  std::to_string(buffer.numElements()) + " elements of type " +
                                  buffer.elementType().toString() + " and was connected to " +
                                  t.getDebugStr());
}

} // namespace

Copy::Copy(Tensor src, Tensor dst, bool, const DebugContext &debugContext)
    : Program(makeNode(Kind::Copy, debugContext)) {
  if (src.numElements() != dst.numElements())
    throw control_program_error("Copy of " + src.getDebugStr() + " to " + dst.getDebugStr() +
                                ": the numbers of elements differ");
  if (src.elementType() != dst.elementType())
    throw type_error("Copy of " + src.getDebugStr() + " to " + dst.getDebugStr() +
                     ": the types differ");
  emulator::checkWritten(dst);
  node->source = std::move(src);
  node->destination = std::move(dst);
}

Copy::Copy(const DataStream &stream, Tensor dst, bool, const DebugContext &debugContext)
    : Program(makeNode(Kind::CopyFromStream, debugContext)) {
  checkStream(dst, stream, DataStreamType::HostToDeviceFIFO);
  emulator::checkWritten(dst);
  node->text = stream.handle();
  node->destination = std::move(dst);
}

Copy::Copy(Tensor src, const DataStream &stream, bool, const DebugContext &debugContext)
    : Program(makeNode(Kind::CopyToStream, debugContext)) {
  checkStream(src, stream, DataStreamType::DeviceToHostFIFO);
  node->text = stream.handle();
  node->source = std::move(src);
}

Copy::Copy(const RemoteBuffer &buffer, Tensor dst, const DebugContext &debugContext)
    : Program(makeNode(Kind::CopyFromRemote, debugContext)) {
  checkRemote(dst, buffer, 1);
  emulator::checkWritten(dst);
  node->text = buffer.handle();
  node->destination = std::move(dst);
}

Copy::Copy(const RemoteBuffer &buffer, Tensor dst, Tensor offset, const DebugContext &debugContext)
    : Program(makeNode(Kind::CopyFromRemote, debugContext)) {
  checkRemote(dst, buffer, offset.numElements());
  emulator::checkWritten(dst);
  node->text = buffer.handle();
  node->destination = std::move(dst);
  node->inputs = {std::move(offset)};
}

Copy::Copy(Tensor src, const RemoteBuffer &buffer, const DebugContext &debugContext)
    : Program(makeNode(Kind::CopyToRemote, debugContext)) {
  checkRemote(src, buffer, 1);
  node->text = buffer.handle();
  node->source = std::move(src);
}

Copy::Copy(Tensor src, const RemoteBuffer &buffer, Tensor offset, const DebugContext &debugContext)
    : Program(makeNode(Kind::CopyToRemote, debugContext)) {
  checkRemote(src, buffer, offset.numElements());
  node->text = buffer.handle();
  node->source = std::move(src);
  node->inputs = {std::move(offset)};
}

} // namespace poplar::program
