#ifndef poplar_PrintTensor_hpp
#define poplar_PrintTensor_hpp

#include <poplar/Program.hpp>

#endif
