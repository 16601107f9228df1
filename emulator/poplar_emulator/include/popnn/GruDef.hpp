#ifndef popnn_GruDef_hpp
#define popnn_GruDef_hpp

// [M] Signatures are from memory: no source of them was at hand.

/// The units of a cell, in the order in which weights have them unless told otherwise.
enum class BasicGruCellUnit { RESET_GATE = 0, UPDATE_GATE = 1, CANDIDATE = 2, NUM_UNITS = 3 };

#endif
