// The layouts of vectors that the target supports: all of them.
// [M] but for the names that public codelets use: the tile's headers are closed.
#ifndef poplar_AvailableVTypes_h
#define poplar_AvailableVTypes_h

#define VECTOR_AVAIL_SPAN
#define VECTOR_AVAIL_SHORT_SPAN
#define VECTOR_AVAIL_ONE_PTR
#define VECTOR_AVAIL_SCALED_PTR32
#define VECTOR_AVAIL_SCALED_PTR64
#define VECTOR_AVAIL_SCALED_PTR128
#define VECTORLIST_AVAIL_DELTAN
#define VECTORLIST_AVAIL_DELTANELEMENTS
#define VECTORLIST_AVAIL_COMPACT_DELTAN

#endif
