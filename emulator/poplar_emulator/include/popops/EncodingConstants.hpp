#ifndef popops_EncodingConstants_hpp
#define popops_EncodingConstants_hpp

/// The index that represents no class.
#define MASKED_LABEL_CODE 0xFFFFFFFFU

/// Added where a logarithm or a quotient would not be finite.
#define EPS_LOG_N_FLOAT (1.17549435e-38F)
#define EPS_LOG_N_HALF (5.9605e-08F)

#endif
