#ifndef popsparse_MatMul_hpp
#define popsparse_MatMul_hpp

#error                                                                                             \
    "popsparse/MatMul.hpp is not provided by the emulator: popsparse's products but for its fully connected layer are not emulated"

#endif
