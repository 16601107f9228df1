#ifndef popc_math_h
#define popc_math_h

// Codelets define constants with the names of these macros. popc includes this file for them.

#include <cmath>

#undef M_E
#undef M_LOG2E
#undef M_LOG10E
#undef M_LN2
#undef M_LN10
#undef M_PI
#undef M_PI_2
#undef M_PI_4
#undef M_1_PI
#undef M_2_PI
#undef M_2_SQRTPI
#undef M_SQRT2
#undef M_SQRT1_2

#endif
