#include "machine.h"

#include <cstdlib>

#include <poplar/exceptions.hpp>

namespace poplar::emulator {
namespace {

// The source of each published figure is next to it. "From memory" and "inferred" mark figures
// without a source; they can be replaced, through IPUModel or here.
Machine mk2() {
  Machine m;
  m.version = "ipu2";
  m.tilesPerIPU = 1472;    // public sources of PopTorch and PopART
  m.workers = 6;           // tile assembly guide
  m.bytesPerTile = 638976; // 624 KiB; PopART integration tests
  m.clockHz = 1.33e9;      // device attribute "clock": 1330MHz
  // 4 bytes a tile and cycle: from memory; the product with tiles and clock is the published
  // 7.8 TB/s.
  m.exchangeBytesPerCycle = 4;
  m.memcpyBytesPerCycle = 8;             // from memory
  m.dataPathWidth = 64;                  // tile assembly guide: ld64
  m.minSyncDelay = 15;                   // from memory
  m.maxSyncDelay = 50;                   // from memory
  m.globalSyncCycles = 600;              // from memory
  m.atomicStoreGranularity = 4;          // the concept is public, the figure from memory
  m.interleavedElement = 13;             // 212,992 B before the interleaved half: from memory
  m.memoryElementOffsets = {0, 0x34000}; // from memory
  m.rptCountMax = 4095;                  // from memory

  m.syncCycles = 90;              // PopLibs CTCLossPlan.cpp: syncCycles
  m.exchangeOverheadCycles = 100; // PopLibs CTCLossPlan.cpp: fixedOverheadExchangeCycles
  m.vertexOverheadBundles = 20;   // inferred: entry, loads of the vertex's state, exit
  m.superviseCycles = 11;         // PopLibs cycle estimators: supervisor part of a 1-D vertex
  m.listRowBundles = 5;           // PopLibs cycle estimators: DELTANELEMENTS, a row
  m.innerLoopBundles = 2;         // PopLibs cycle estimators: loop overhead of assembly
  // PopLibs ConvModel.cpp, regression over rearrangements within a tile. Its use for fields that
  // need contiguous elements, and for copies, is inferred.
  m.copyFixedCycles = 587;
  m.copyCyclesPerByte8 = 0.4404;
  m.copyCyclesPerByte4 = 3.125;
  m.copyCyclesPerByte2 = 5.1484;
  // PopLibs lib/poplibs_test/Util.cpp: 128 x 2^30 bit/s a link, 0.85 of it used; 4 links between
  // the IPUs of a card, 2 to any other. That IPUs 2n and 2n + 1 share a card is inferred.
  m.linkBytesPerSecond = 0.85 * 128 * 1073741824.0 / 8;
  m.linksWithinCard = 4;
  m.linksBetweenCards = 2;
  m.hopSeconds = 15e-9;         // PopLibs lib/poplibs_test/Util.cpp
  m.hostBytesPerSecond = 32e9;  // one direction of the 64 GB/s of the data sheet
  m.hostLatencySeconds = 10e-6; // inferred: a host round trip over PCIe

  m.stackBytesPerWorker = 2048;    // from memory
  m.supervisorStackBytes = 512;    // from memory
  m.exchangeCodeBytesPerPiece = 8; // inferred: an instruction and an address a piece
  m.controlCodeBytesPerStep = 32;  // inferred
  return m;
}

} // namespace

std::string archOfThisHost() {
  const char *named = std::getenv("IPULSE_EMULATOR_ARCH");
  return named ? named : "ipu2";
}

Machine machineOf(const std::string &version) {
  Machine m = mk2();
  m.version = version;
  if (version == "ipu2")
    return m;
  if (version == "ipu21") { // PopART Utils.cpp: C600, 1472 tiles, the same tile
    m.clockHz = 1.85e9;     // PopLibs tools/sparse_matmul.cpp, PopTorch default
    return m;
  }
  if (version == "ipu1") {
    m.tilesPerIPU = 1216;                  // data sheet
    m.bytesPerTile = 262144;               // data sheet: 304 MiB in all
    m.clockHz = 1.6e9;                     // data sheet, nominal
    m.interleavedElement = 8;              // from memory
    m.memoryElementOffsets = {0, 0x20000}; // from memory
    return m;
  }
  throw invalid_machine_model("unknown IPU version '" + version +
                              "': expected ipu1, ipu2 or ipu21");
}

std::size_t sizeOf(Type type) {
  switch (type.identity()) {
  case Type::Id::Bool:
  case Type::Id::Char:
  case Type::Id::UnsignedChar:
  case Type::Id::SignedChar:
  case Type::Id::Quarter:
  case Type::Id::QuarterMetadata:
    return 1;
  case Type::Id::UnsignedShort:
  case Type::Id::Short:
  case Type::Id::Half:
    return 2;
  case Type::Id::UnsignedInt:
  case Type::Id::Int:
  case Type::Id::Float:
    return 4;
  // A long has 4 bytes on the device and 8 here, because codelets are compiled for the host.
  case Type::Id::UnsignedLong:
  case Type::Id::Long:
  case Type::Id::UnsignedLongLong:
  case Type::Id::LongLong:
    return 8;
  case Type::Id::None:
    break;
  }
  throw type_error("not the type of an element");
}

} // namespace poplar::emulator
