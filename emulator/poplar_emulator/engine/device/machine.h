#ifndef IPULSE_EMULATOR_MACHINE_H
#define IPULSE_EMULATOR_MACHINE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <poplar/TargetType.hpp>
#include <poplar/Type.hpp>

namespace poplar::emulator {

constexpr unsigned kNoTile = ~0u;

/// The figures of a machine. machine.cc holds the table and the source of each figure.
struct Machine {
  std::string version;
  TargetType type = TargetType::IPU;
  unsigned numIPUs = 1;
  unsigned tilesPerIPU = 0;
  unsigned workers = 0;
  unsigned bytesPerTile = 0;
  double clockHz = 0;
  unsigned exchangeBytesPerCycle = 0;
  unsigned memcpyBytesPerCycle = 0;
  unsigned dataPathWidth = 0; // bits
  unsigned minSyncDelay = 0;
  unsigned maxSyncDelay = 0;
  unsigned globalSyncCycles = 0;
  unsigned atomicStoreGranularity = 0;
  unsigned interleavedElement = 0;
  std::vector<unsigned> memoryElementOffsets;
  unsigned rptCountMax = 0;

  // The cycle model.
  unsigned syncCycles = 0;             // before each exchange and each compute set
  unsigned exchangeOverheadCycles = 0; // of an exchange, whatever its size
  unsigned vertexOverheadBundles = 0;  // launch of a vertex on a worker
  unsigned superviseCycles = 0;        // launch of the workers of a tile
  unsigned listRowBundles = 0;         // to unpack a row of a list of vectors
  unsigned innerLoopBundles = 0;       // of PopLibs' vertices, each time an inner loop begins
  double copyFixedCycles = 0;          // of a rearrangement within a tile
  double copyCyclesPerByte8 = 0, copyCyclesPerByte4 = 0, copyCyclesPerByte2 = 0;
  double linkBytesPerSecond = 0; // of one link between two IPUs, one direction
  unsigned linksWithinCard = 0, linksBetweenCards = 0;
  double hostBytesPerSecond = 0;
  double hostLatencySeconds = 0;
  double hopSeconds = 0; // of a sync between IPUs

  // The memory model, in bytes.
  unsigned stackBytesPerWorker = 0;
  unsigned supervisorStackBytes = 0;
  unsigned exchangeCodeBytesPerPiece = 0;
  unsigned controlCodeBytesPerStep = 0;

  unsigned numTiles() const { return numIPUs * tilesPerIPU; }
};

/// Raises invalid_machine_model for an unknown version.
Machine machineOf(const std::string &version);

/// Returns the version in IPULSE_EMULATOR_ARCH, by default ipu2.
std::string archOfThisHost();

/// Returns the bytes of an element; raises type_error if the type has no elements.
std::size_t sizeOf(Type type);

} // namespace poplar::emulator

#endif
