#ifndef poplar_VectorListTypes_hpp
#define poplar_VectorListTypes_hpp

#include <poplar/VertexFields.hpp>

#endif
