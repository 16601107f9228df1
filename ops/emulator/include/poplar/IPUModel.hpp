#ifndef poplar_IPUModel_hpp
#define poplar_IPUModel_hpp

#include <string>
#include <vector>

#include <poplar/Device.hpp>

namespace poplar {

/// A machine to be emulated, every figure of which may be changed before createDevice().
struct IPUModel {
  /// Raises invalid_machine_model for another version than "ipu1", "ipu2", "ipu21".
  explicit IPUModel(const char *IPUVersion = "ipu2");

  enum class RelativeSyncDelayType { NO_DELAY, SINGLE_DELAY };

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

  Device createDevice(OptionFlags opts = {}, bool accurateHalf = true,
                      unsigned deviceManagerId = 0) const;
};

} // namespace poplar

#endif
