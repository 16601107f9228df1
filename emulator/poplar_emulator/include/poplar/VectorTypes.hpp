#ifndef poplar_VectorTypes_hpp
#define poplar_VectorTypes_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <ipudef.h>

#endif
