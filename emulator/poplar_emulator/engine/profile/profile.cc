#include "profile.h"

namespace poplar::emulator {

using Kind = ProgramNode::Kind;

ProfileValue profileMap(std::initializer_list<std::pair<std::string, ProfileValue>> members) {
  ProfileValue value;
  for (const auto &member : members)
    value.insert(member.first, member.second);
  return value;
}

ProfileValue profileNumber(std::uint64_t n) { return ProfileValue(static_cast<double>(n)); }
ProfileValue profileList() { return ProfileValue(ProfileValue::Vector()); }

std::uint64_t numEdges(const GraphState &graph) {
  std::uint64_t edges = 0;
  for (const VertexInstance &vertex : graph.vertices)
    for (const Connection &field : vertex.fields)
      edges += field.rows.size();
  return edges;
}

const char *stepType(const ProgramNode &node) {
  switch (node.kind) {
  case Kind::Sequence:
    return "Sequence";
  case Kind::Execute:
    return "OnTileExecute";
  case Kind::Copy:
    return "DoExchange";
  case Kind::CrossReplica:
    return "GlobalExchange";
  case Kind::CopyFromStream:
  case Kind::CopyToStream:
  case Kind::CopyFromRemote:
  case Kind::CopyToRemote:
  case Kind::CallHost:
    return "StreamCopyMid";
  case Kind::WriteUndef:
    return "WriteUndef";
  case Kind::Repeat:
    return "Repeat";
  case Kind::RepeatWhile:
    return "RepeatWhile";
  case Kind::If:
    return "If";
  case Kind::Switch:
    return "Switch";
  case Kind::Call:
    return "Call";
  case Kind::Sync:
    return "Sync";
  case Kind::Print:
    return "PrintTensor";
  case Kind::AssumeEqual:
    return "AssumeEqualAcrossReplicas";
  case Kind::Abort:
    return "Abort";
  case Kind::ReadClock:
    return "CycleCount";
  }
  return "";
}

std::string stepName(const Compiled &compiled, const ProgramNode &node) {
  if (!node.name.empty())
    return node.name;
  if (node.kind == Kind::Execute)
    return compiled.graph->computeSets[node.id].name;
  return node.text;
}

ProfileValue profileOf(const Compiled &compiled, const Session *session) {
  ProfileValue profile = profileMap({{"emulated", true}, {"compilation", compilationOf(compiled)}});
  if (session)
    profile.insert("execution", executionOf(*session));
  return profile;
}

} // namespace poplar::emulator
