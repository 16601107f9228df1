#ifndef popsparse_experimental_BlockSparseMatMul_hpp
#define popsparse_experimental_BlockSparseMatMul_hpp

#error                                                                                             \
    "popsparse/experimental/BlockSparseMatMul.hpp is not provided by the emulator: block-sparse products are not emulated"

#endif
