#include <poplar/MetadataCreation.hpp>

namespace poplar {
namespace {

/// The byte of a QUARTER_METADATA element: the format's bit above a scale of 6 bits. [I]
unsigned char byteOf(QuarterMetadata::Format format, int scale) {
  if (scale < -32 || scale > 31)
    throw poplar_error("a scale of 2^" + std::to_string(scale) +
                       " for QUARTER: it is from 2^-32 to 2^31");
  const unsigned bit = format == QuarterMetadata::Format::F143 ? 0x80u : 0u;
  return static_cast<unsigned char>(bit | (static_cast<unsigned>(scale) & 0x3fu));
}

} // namespace

Tensor createConstantMetadataTensor(Graph &graph, QuarterMetadata::Format format, int scale,
                                    const DebugContext &debugContext) {
  const Tensor t = graph.addConstant(UNSIGNED_CHAR, {}, byteOf(format, scale), debugContext)
                       .reinterpret(QUARTER_METADATA);
  graph.setTileMapping(t, 0);
  return t;
}

Tensor createVariableMetadataTensor(Graph &graph, QuarterMetadata::Format format, int scale,
                                    const DebugContext &debugContext) {
  const Tensor t = graph.addVariable(UNSIGNED_CHAR, {}, debugContext);
  graph.setInitialValue(t, byteOf(format, scale));
  graph.setTileMapping(t, 0);
  return t.reinterpret(QUARTER_METADATA);
}

Tensor createVariableMetadataTensor(Graph &graph, QuarterMetadata::Format format, int scale,
                                    program::Sequence &prog, const DebugContext &debugContext) {
  const Tensor t = graph.addVariable(QUARTER_METADATA, {}, debugContext);
  graph.setTileMapping(t, 0);
  prog.add(program::Copy(createConstantMetadataTensor(graph, format, scale, debugContext), t));
  return t;
}

} // namespace poplar
