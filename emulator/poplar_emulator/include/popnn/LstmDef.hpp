#ifndef popnn_LstmDef_hpp
#define popnn_LstmDef_hpp

// [M] Signatures are from memory: no source of them was at hand.

/// The units of a cell, in the default order of the weights.
enum class BasicLstmCellUnit {
  FORGET_GATE = 0,
  INPUT_GATE = 1,
  CANDIDATE = 2,
  OUTPUT_GATE = 3,
  NUM_UNITS = 4
};

#endif
