#ifndef poplar_Loops_hpp
#define poplar_Loops_hpp

#include <ipudef.h>

#endif
