#ifndef poplar_Alignment_hpp
#define poplar_Alignment_hpp

// Codelets include this header and use no name of it: what the SDK declares here is not public.

#endif
