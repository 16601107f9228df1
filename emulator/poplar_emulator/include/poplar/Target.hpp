#ifndef poplar_Target_hpp
#define poplar_Target_hpp

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <poplar/OptionFlags.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/TargetType.hpp>
#include <poplar/Type.hpp>

namespace poplar {

namespace emulator {
struct Machine;
}

/// How the IPUs of a link domain are wired.
enum class IpuLinkTopology { Mesh, Torus };

/// The hardware for which a graph is built. A virtual graph's target has only that graph's tiles.
class Target {
public:
  Target();
  /// A whole IPU system: systemType is "ipu1", "ipu2" or "ipu21". Raises invalid_machine_model.
  static Target createIPUTarget(unsigned numIPUs, StringRef systemType,
                                const OptionFlags &opts = {});
  static Target createIPUTarget(unsigned numIPUs, unsigned tilesPerIPU, StringRef systemType,
                                const OptionFlags &opts = {});
  static Target createCPUTarget(bool accurateHalf = false, unsigned numIPUs = 1);

  TargetType getTargetType() const;
  std::string getTargetArchString() const;
  StringRef getTargetSystemString() const;
  unsigned getNumIPUs() const;
  unsigned getTilesPerIPU() const;
  unsigned getNumTiles() const;
  unsigned getNumWorkerContexts() const;
  unsigned getBytesPerTile() const;
  std::uint64_t getMemoryBytes() const;
  double getTileClockFrequency() const; ///< in Hz
  unsigned getExchangeBytesPerCycle() const;
  unsigned getMemcpyBytesPerCycle() const;
  unsigned getMinIPUSyncDelay() const;
  unsigned getMaxIPUSyncDelay() const;
  unsigned getGlobalSyncCycles() const;
  unsigned getDataPathWidth() const; ///< in bits
  unsigned getVectorWidth(const Type &t) const;
  unsigned getFloatVectorWidth() const;
  unsigned getHalfVectorWidth() const;
  std::size_t getTypeSize(const Type &t) const; ///< in bytes
  unsigned getAtomicStoreGranularity() const;
  unsigned getInterleavedMemoryElementIndex() const;
  const std::vector<unsigned> &getMemoryElementOffsets() const;
  unsigned getTilesPerSharedExchangeBus() const;
  bool supportsExchangeBusSharing() const;
  unsigned getIpuLinkDomainSize() const; ///< in IPUs
  IpuLinkTopology getIpuLinkTopology() const;
  unsigned getNumStrideBits() const;
  unsigned getRptCountMax() const;
  unsigned getFp16InFp16OutConvUnitsPerTile() const;
  unsigned getFp16InFp32OutConvUnitsPerTile() const;
  unsigned getFp32InFp32OutConvUnitsPerTile() const;
  /// The convolution units of a tile, for the types of inputs and partials. [M]
  unsigned getNumConvUnits(bool floatInputs, bool floatPartials) const;
  Target createVirtualTarget(unsigned numIPUs, unsigned tilesPerIPU) const;
  bool operator==(const Target &other) const;
  bool operator!=(const Target &other) const { return !(*this == other); }

  // For internal use.
  explicit Target(std::shared_ptr<const emulator::Machine> machine);
  const emulator::Machine &getMachine() const { return *machine; }

private:
  std::shared_ptr<const emulator::Machine> machine;
};

/// Bytes of host memory that a copy of `n` elements of type `t` takes.
void copyFloatToDeviceHalf(const Target &target, const float *src, void *dst, std::size_t n);
void copyDeviceHalfToFloat(const Target &target, const void *src, float *dst, std::size_t n);
void copyDoubleToDeviceHalf(const Target &target, const double *src, void *dst, std::size_t n);
void copyDeviceHalfToDouble(const Target &target, const void *src, double *dst, std::size_t n);

} // namespace poplar

#endif
