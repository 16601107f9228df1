// printf for codelets: on the host's standard output.
#ifndef ipu_print_h
#define ipu_print_h

#include <cstdio>

#endif
