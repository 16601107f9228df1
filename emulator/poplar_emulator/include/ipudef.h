// The vector types of a tile, of the sizes of one load or one operation.
// [M] but for the names that public codelets use: the tile's headers are closed.
#ifndef ipudef_h
#define ipudef_h

#include <poplar/HalfFloat.hpp>

typedef float float2 __attribute__((vector_size(8)));
typedef float float4 __attribute__((vector_size(16)));
#ifdef POPLAR_HALF_OF_THE_COMPILER
typedef POPLAR_HALF_OF_THE_COMPILER half2 __attribute__((vector_size(4)));
typedef POPLAR_HALF_OF_THE_COMPILER half4 __attribute__((vector_size(8)));
typedef POPLAR_HALF_OF_THE_COMPILER half8 __attribute__((vector_size(16)));
#endif
typedef int int2 __attribute__((vector_size(8)));
typedef int int4 __attribute__((vector_size(16)));
typedef unsigned int uint;
typedef unsigned int uint2 __attribute__((vector_size(8)));
typedef unsigned int uint4 __attribute__((vector_size(16)));
typedef short short2 __attribute__((vector_size(4)));
typedef short short4 __attribute__((vector_size(8)));
typedef unsigned short ushort;
typedef unsigned short ushort2 __attribute__((vector_size(4)));
typedef unsigned short ushort4 __attribute__((vector_size(8)));
typedef signed char char2 __attribute__((vector_size(2)));
typedef signed char char4 __attribute__((vector_size(4)));
typedef unsigned char uchar;
typedef unsigned char uchar2 __attribute__((vector_size(2)));
typedef unsigned char uchar4 __attribute__((vector_size(4)));
typedef long long longlong;
typedef int long2 __attribute__((vector_size(8))); // long has 4 bytes on a tile
typedef int long4 __attribute__((vector_size(16)));
typedef unsigned int ulong2 __attribute__((vector_size(8)));
typedef unsigned int ulong4 __attribute__((vector_size(16)));
typedef unsigned long long ulonglong;
typedef unsigned long long ulonglong2 __attribute__((vector_size(16)));
typedef long long longlong4 __attribute__((vector_size(32)));
typedef unsigned long long ulonglong4 __attribute__((vector_size(32)));
typedef long long longlong2 __attribute__((vector_size(16)));
/// Eight bits of a float, without arithmetic.
struct quarter {
  unsigned char value;
};
/// A count of repetitions that the repeat instruction takes.
typedef unsigned rptsize_t;

#endif
