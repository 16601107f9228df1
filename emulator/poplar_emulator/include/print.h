// printf for codelets: on the host's standard output.
// [M] but for the names that public codelets use: the tile's headers are closed.
#ifndef ipu_print_h
#define ipu_print_h

#include <cstdio>

#endif
