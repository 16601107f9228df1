#ifndef popnn_GruDef_hpp
#define popnn_GruDef_hpp

// [M] Signatures are from memory: no source of them was at hand.

/// The units of a cell, in the default order of the weights.
enum class BasicGruCellUnit { RESET_GATE = 0, UPDATE_GATE = 1, CANDIDATE = 2, NUM_UNITS = 3 };

#endif
