#ifndef poplar_VectorTypes_hpp
#define poplar_VectorTypes_hpp

#include <ipudef.h>

#endif
