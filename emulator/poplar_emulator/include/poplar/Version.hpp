#ifndef poplar_Version_hpp
#define poplar_Version_hpp

// Part of Graph.hpp; not a header of the SDK.

#include <poplar/StringRef.hpp>

namespace poplar {

/// The version of the SDK that the emulator follows, and what stands for the packages' hash.
StringRef versionString();
StringRef packageHash();

} // namespace poplar

#endif
