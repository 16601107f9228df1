#ifndef poplar_IPUModel_hpp
#define poplar_IPUModel_hpp

#include <string>
#include <vector>

#include <poplar/Device.hpp>

namespace poplar {

/// Traffic that shares a bandwidth between IPUs. [M]
struct GlobalExchangeFlow {
  unsigned src, dst; ///< IPUs
};
struct GlobalExchangeConstraint {
  double bandwidth; ///< in bits a second
  std::vector<GlobalExchangeFlow> flows;
};

/// A machine to be emulated. Every figure may be changed before createDevice().
struct IPUModel {
  /// Raises invalid_machine_model for another version than "ipu1", "ipu2", "ipu21".
  explicit IPUModel(const char *IPUVersion = "ipu2");

  enum class RelativeSyncDelayType { AUTO, NO_DELAY, SINGLE_DELAY };

  std::string IPUVersion;
  unsigned numIPUs = 1;
  unsigned tilesPerIPU;
  unsigned numWorkerContexts;
  unsigned memoryBytesPerTile;
  unsigned exchangeBytesPerCycle;
  unsigned memcpyBytesPerCycle;
  unsigned dataPathWidth;
  unsigned minIPUSyncDelay;
  unsigned globalSyncCycles;
  unsigned atomicStoreGranularity;
  unsigned interleavedMemoryElementIndex;
  std::vector<unsigned> memoryElementOffsets;
  double tileClockFrequency;
  unsigned tilesPerSuperTile = 2;
  bool supportsSuperTileSendReceive = false;
  bool compileIPUCode = false;
  // Figures that the emulator does not use: createDevice() raises invalid_machine_model if one of
  // them was changed, because the change would have no effect. [M] their types
  RelativeSyncDelayType relativeSyncDelay = RelativeSyncDelayType::AUTO;
  std::vector<GlobalExchangeConstraint> globalExchangeConstraints;
  unsigned instructionBytes = 4;

  Device createDevice(OptionFlags opts = {}, bool accurateHalf = false,
                      unsigned deviceManagerId = ~0u) const;
};

} // namespace poplar

#endif
