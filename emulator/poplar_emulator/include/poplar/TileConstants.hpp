#ifndef poplar_TileConstants_hpp
#define poplar_TileConstants_hpp

// [M] The names of a tile's registers that get, put and uput know here, from memory. Use the names:
// the numbers are the emulator's own.

#define CSR_W_WSR__INDEX 0 // status of the worker
#define CSR_W_WSR__CTXTID_M1__SHIFT 0
#define CSR_W_WSR__CTXTID_M1__MASK 7 // its number, from 0

#define CSR_W_PRNG_0_0__INDEX 16 // state of the generator of random bits
#define CSR_W_PRNG_0_1__INDEX 17
#define CSR_W_PRNG_1_0__INDEX 18
#define CSR_W_PRNG_1_1__INDEX 19

#define CSR_W_TAS__INDEX 32 // what f32v2axpy multiplies by: uget, uput

#endif
