#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <poplar/HalfFloat.hpp>
#include <poplar/Target.hpp>
#include <poplar/exceptions.hpp>

#include "machine.h"

namespace poplar {

using emulator::Machine;

Target::Target() : machine(std::make_shared<Machine>()) {}
Target::Target(std::shared_ptr<const Machine> machine) : machine(std::move(machine)) {}

Target Target::createIPUTarget(unsigned numIPUs, StringRef systemType, const OptionFlags &opts) {
  return createIPUTarget(numIPUs, emulator::machineOf(systemType).tilesPerIPU, systemType, opts);
}

Target Target::createIPUTarget(unsigned numIPUs, unsigned tilesPerIPU, StringRef systemType,
                               const OptionFlags &) {
  Machine m = emulator::machineOf(systemType);
  if (numIPUs == 0 || tilesPerIPU == 0 || tilesPerIPU > m.tilesPerIPU)
    throw invalid_machine_model("a target needs at least one IPU of 1 to " +
                                std::to_string(m.tilesPerIPU) + " tiles");
  m.numIPUs = numIPUs;
  m.tilesPerIPU = tilesPerIPU;
  return Target(std::make_shared<Machine>(m));
}

Target Target::createCPUTarget(bool, unsigned numIPUs) {
  Machine m = emulator::machineOf("ipu2");
  m.type = TargetType::CPU;
  m.version = "cpu";
  m.numIPUs = numIPUs;
  m.tilesPerIPU = 1;
  m.workers = 1;
  m.bytesPerTile = ~0u;
  return Target(std::make_shared<Machine>(m));
}

Target Target::createVirtualTarget(unsigned numIPUs, unsigned tilesPerIPU) const {
  Machine m = *machine;
  m.numIPUs = numIPUs;
  m.tilesPerIPU = tilesPerIPU;
  return Target(std::make_shared<Machine>(m));
}

TargetType Target::getTargetType() const { return machine->type; }
std::string Target::getTargetArchString() const { return machine->version; }
StringRef Target::getTargetSystemString() const { return machine->version; }
unsigned Target::getNumIPUs() const { return machine->numIPUs; }
unsigned Target::getTilesPerIPU() const { return machine->tilesPerIPU; }
unsigned Target::getNumTiles() const { return machine->numTiles(); }
unsigned Target::getNumWorkerContexts() const { return machine->workers; }
unsigned Target::getBytesPerTile() const { return machine->bytesPerTile; }
std::uint64_t Target::getMemoryBytes() const {
  return std::uint64_t{machine->bytesPerTile} * machine->numTiles();
}
double Target::getTileClockFrequency() const { return machine->clockHz; }
unsigned Target::getExchangeBytesPerCycle() const { return machine->exchangeBytesPerCycle; }
unsigned Target::getMemcpyBytesPerCycle() const { return machine->memcpyBytesPerCycle; }
unsigned Target::getMinIPUSyncDelay() const { return machine->minSyncDelay; }
unsigned Target::getMaxIPUSyncDelay() const { return machine->maxSyncDelay; }
unsigned Target::getGlobalSyncCycles() const { return machine->globalSyncCycles; }
unsigned Target::getDataPathWidth() const { return machine->dataPathWidth; }
std::size_t Target::getTypeSize(const Type &t) const { return emulator::sizeOf(t); }
unsigned Target::getVectorWidth(const Type &t) const {
  // The register file pairs floats and quadruples halves; there is no vector of integers.
  if (t == HALF || t == FLOAT)
    return machine->dataPathWidth / (8 * static_cast<unsigned>(getTypeSize(t)));
  return 1;
}
unsigned Target::getFloatVectorWidth() const { return getVectorWidth(FLOAT); }
unsigned Target::getHalfVectorWidth() const { return getVectorWidth(HALF); }
unsigned Target::getAtomicStoreGranularity() const { return machine->atomicStoreGranularity; }
unsigned Target::getInterleavedMemoryElementIndex() const { return machine->interleavedElement; }
const std::vector<unsigned> &Target::getMemoryElementOffsets() const {
  return machine->memoryElementOffsets;
}
unsigned Target::getTilesPerSharedExchangeBus() const { return 2; }
bool Target::supportsExchangeBusSharing() const { return true; }
unsigned Target::getNumStrideBits() const { return 10; } // from memory
unsigned Target::getRptCountMax() const { return machine->rptCountMax; }
unsigned Target::getFp16InFp16OutConvUnitsPerTile() const { return 16; } // from memory
unsigned Target::getFp16InFp32OutConvUnitsPerTile() const { return 16; } // from memory
unsigned Target::getFp32InFp32OutConvUnitsPerTile() const { return 8; }  // from memory
unsigned Target::getNumConvUnits(bool floatInputs, bool floatPartials) const {
  if (floatInputs)
    return getFp32InFp32OutConvUnitsPerTile();
  return floatPartials ? getFp16InFp32OutConvUnitsPerTile() : getFp16InFp16OutConvUnitsPerTile();
}

bool Target::operator==(const Target &other) const {
  const Machine &a = *machine, &b = *other.machine;
  return a.version == b.version && a.type == b.type && a.numIPUs == b.numIPUs &&
         a.tilesPerIPU == b.tilesPerIPU && a.bytesPerTile == b.bytesPerTile &&
         a.clockHz == b.clockHz;
}

unsigned Target::getIpuLinkDomainSize() const { return getNumIPUs(); }
IpuLinkTopology Target::getIpuLinkTopology() const { return IpuLinkTopology::Mesh; }

void copyFloatToDeviceHalf(const Target &, const float *src, void *dst, std::size_t n) {
  auto *out = static_cast<std::uint16_t *>(dst);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = half::fromFloat(src[i]);
}

void copyDeviceHalfToFloat(const Target &, const void *src, float *dst, std::size_t n) {
  const auto *in = static_cast<const std::uint16_t *>(src);
  for (std::size_t i = 0; i < n; ++i)
    dst[i] = half::toFloat(in[i]);
}

namespace {

/// Rounds toward zero and sets the last bit of an inexact result, so that rounding it to half gives
/// what rounding the double once gives.
float roundedToOdd(double value) {
  auto nearest = static_cast<float>(value);
  if (!std::isfinite(nearest) || static_cast<double>(nearest) == value)
    return nearest;
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value))
    nearest = std::nextafter(nearest, 0.0f);
  std::uint32_t bits;
  std::memcpy(&bits, &nearest, sizeof bits);
  bits |= 1;
  std::memcpy(&nearest, &bits, sizeof bits);
  return nearest;
}

} // namespace

void copyDoubleToDeviceHalf(const Target &target, const double *src, void *dst, std::size_t n) {
  std::vector<float> values(n);
  std::transform(src, src + n, values.begin(), roundedToOdd);
  copyFloatToDeviceHalf(target, values.data(), dst, n);
}

void copyDeviceHalfToDouble(const Target &target, const void *src, double *dst, std::size_t n) {
  std::vector<float> values(n);
  copyDeviceHalfToFloat(target, src, values.data(), n);
  std::copy(values.begin(), values.end(), dst);
}

} // namespace poplar
