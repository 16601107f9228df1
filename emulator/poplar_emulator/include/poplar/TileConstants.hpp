#ifndef poplar_TileConstants_hpp
#define poplar_TileConstants_hpp

// [M] The names of a tile's registers that get, put and uget know here, and constants of its
// architecture. Use the names: the numbers of registers are the emulator's own.

#define CTXT_WORKERS 6 // workers of a tile

#define CSR_W_WSR__INDEX 0 // status of the worker
#define CSR_W_WSR__CTXTID_M1__SHIFT 0
#define CSR_W_WSR__CTXTID_M1__MASK 7 // its number, from 0

#define CSR_W_PRNG_0_0__INDEX 16 // state of the generator of random bits
#define CSR_W_PRNG_0_1__INDEX 17
#define CSR_W_PRNG_1_0__INDEX 18
#define CSR_W_PRNG_1_1__INDEX 19

#define CSR_W_TAS__INDEX 32 // what f32v2axpy multiplies by: uget, uput

// Registers and units without a counterpart here: their names are known, so that code for them
// can be read by the compiler, and reading or writing one is an error of popc.
#define CSR_UPPER_MASK 0x1fe
#define CSR_W_FP_CTL__INDEX 48
#define CSR_W_FP_NFMT__INDEX 49
#define CSR_W_FP_SCL__INDEX 50
#define CSR_W_FP_CLR__INDEX 51
#define CSR_W_FP_CLR__ZAACC__MASK 1
#define CSR_W_FP_CLR__ZAACC__SHIFT 0
#define CSR_S_FP_ICTL__INDEX 64
#define CCCSLOAD 80
#define TEXCH_SYNCZONE_LOCAL 0

#define TMEM_BASE_ADDR 0x4c000
#define TMEM_REGION0_BASE_ADDR 0x4c000
#define TMEM_ELEMSIZE 0x4000

#endif
