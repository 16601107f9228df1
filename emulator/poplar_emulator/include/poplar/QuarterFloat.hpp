#ifndef poplar_QuarterFloat_hpp
#define poplar_QuarterFloat_hpp

#include <poplar/Quarter.hpp>

#endif
