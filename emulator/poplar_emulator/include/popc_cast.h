#ifndef popc_cast_h
#define popc_cast_h

// Programs for a tile cast the address of an element of an Input to a pointer to numbers that are
// not const. popc includes this file for codelets that do.

#include <ipu_builtins.h>

template <typename To, typename From>
inline __attribute__((always_inline)) To popc_cast(From &&from) {
  return (To)from;
}
#define reinterpret_cast popc_cast

#endif
