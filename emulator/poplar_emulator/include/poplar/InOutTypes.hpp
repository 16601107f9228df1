#ifndef poplar_InOutTypes_hpp
#define poplar_InOutTypes_hpp

#include <poplar/Vertex.hpp>

#endif
