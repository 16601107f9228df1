#ifndef poplar_MetadataCreation_hpp
#define poplar_MetadataCreation_hpp

// [M] Poplar's headers are closed.

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/Quarter.hpp>

namespace poplar {

/// Returns the metadata of a QUARTER tensor, QUARTER_METADATA {}, on tile 0. Raises poplar_error
/// for a scale that a signed 6-bit number cannot hold.
Tensor createConstantMetadataTensor(Graph &graph, QuarterMetadata::Format format, int scale,
                                    const DebugContext &debugContext = {});
Tensor createVariableMetadataTensor(Graph &graph, QuarterMetadata::Format format, int scale,
                                    const DebugContext &debugContext = {});
/// The same with the values copied by `prog`.
Tensor createVariableMetadataTensor(Graph &graph, QuarterMetadata::Format format, int scale,
                                    program::Sequence &prog, const DebugContext &debugContext = {});

} // namespace poplar

#endif
