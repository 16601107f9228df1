#ifndef poplar_FieldTypes_hpp
#define poplar_FieldTypes_hpp

#include <poplar/Vertex.hpp>

#endif
