#ifndef poplin_experimental_QRFactorization_hpp
#define poplin_experimental_QRFactorization_hpp

#error                                                                                             \
    "poplin/experimental/QRFactorization.hpp is not provided by the emulator: QR factorisation is not emulated"

#endif
