#ifndef poplar_SyncType_hpp
#define poplar_SyncType_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

namespace poplar {

enum class SyncType { INTERNAL, EXTERNAL, GLOBAL };

} // namespace poplar

#endif
