#include <cstdlib>
#include <mutex>
#include <string>

#include <poplar/Device.hpp>
#include <poplar/DeviceManager.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/exceptions.hpp>

#include "machine.h"

namespace poplar {
namespace emulator {

struct DeviceState {
  unsigned id;
  Target target;
  std::vector<int> ipus;
  bool attached;
};

} // namespace emulator

namespace {

using emulator::DeviceState;

std::mutex ipuMutex;
std::vector<bool> ipuHeld; // by IPU of this process; guarded by ipuMutex

unsigned ipusOfThisHost() {
  const char *named = std::getenv("IPULSE_EMULATOR_IPUS");
  if (!named)
    return 4;
  const long value = std::strtol(named, nullptr, 10);
  if (value < 1 || value > 64)
    throw invalid_option("IPULSE_EMULATOR_IPUS is '" + std::string(named) +
                         "': expected a number from 1 to 64");
  return static_cast<unsigned>(value);
}

Device ipuDevice(unsigned id, std::vector<int> ipus) {
  Target target =
      Target::createIPUTarget(static_cast<unsigned>(ipus.size()), emulator::archOfThisHost());
  return Device(std::make_shared<DeviceState>(DeviceState{id, target, std::move(ipus), false}));
}

} // namespace

Device::Device() = default;
Device::Device(Device &&) noexcept = default;
Device &Device::operator=(Device &&) noexcept = default;
Device::Device(std::shared_ptr<DeviceState> state) : state(std::move(state)) {}
Device::~Device() {
  if (state && state.use_count() == 1 && state->attached)
    detach();
}

Device Device::createCPUDevice(unsigned numIPUs) {
  return Device(std::make_shared<DeviceState>(
      DeviceState{0, Target::createCPUTarget(false, numIPUs), {}, true}));
}

Device Device::createSimulatorDevice(const Target &target, const OptionFlags &) {
  if (target.getTargetType() == TargetType::CPU)
    throw invalid_machine_model("a simulator needs a target with IPUs, such as createIPUTarget's");
  emulator::Machine m = target.getMachine();
  m.type = TargetType::IPU_MODEL;
  return Device(std::make_shared<DeviceState>(
      DeviceState{0, Target(std::make_shared<emulator::Machine>(std::move(m))), {}, true}));
}

unsigned Device::getId() const { return state->id; }
const Target &Device::getTarget() const { return state->target; }
const std::vector<int> &Device::getDriverIDs() const { return state->ipus; }
std::map<std::string, std::string> Device::getAttributes() const {
  if (state->ipus.empty())
    return {};
  const emulator::Machine &m = state->target.getMachine();
  return {{"ipu", std::to_string(state->ipus.front())},
          {"clock", std::to_string(static_cast<unsigned>(m.clockHz / 1e6)) + "MHz"},
          {"ipu architecture", m.version},
          {"number of tiles", std::to_string(m.tilesPerIPU)},
          {"number of worker contexts", std::to_string(m.workers)}};
}
bool Device::isAttached() const { return state->attached; }

bool Device::attach() const {
  const std::lock_guard<std::mutex> lock(ipuMutex);
  if (state->attached)
    return true;
  for (const int ipu : state->ipus) {
    if (ipuHeld.size() <= static_cast<std::size_t>(ipu))
      ipuHeld.resize(static_cast<std::size_t>(ipu) + 1);
    if (ipuHeld[static_cast<std::size_t>(ipu)])
      return false;
  }
  for (const int ipu : state->ipus)
    ipuHeld[static_cast<std::size_t>(ipu)] = true;
  return state->attached = true;
}

void Device::detach() const {
  const std::lock_guard<std::mutex> lock(ipuMutex);
  if (state->attached)
    for (const int ipu : state->ipus)
      ipuHeld[static_cast<std::size_t>(ipu)] = false;
  state->attached = false;
}

Device Device::createVirtualDevice(unsigned tilesPerIPU) {
  DeviceState copy = *state;
  copy.target = copy.target.createVirtualTarget(copy.target.getNumIPUs(), tilesPerIPU);
  copy.attached = true; // through the device that created it
  copy.ipus.clear();
  return Device(std::make_shared<DeviceState>(std::move(copy)));
}

std::size_t DeviceManager::getNumDevices() const { return getDevices().size(); }

std::vector<Device> DeviceManager::getDevices(const OptionFlags &) const {
  std::vector<Device> devices;
  const unsigned ipus = ipusOfThisHost();
  unsigned id = 0;
  for (unsigned size = 1; size <= ipus; size *= 2) {
    for (unsigned first = 0; first + size <= ipus; first += size) {
      std::vector<int> members;
      for (unsigned i = 0; i < size; ++i)
        members.push_back(static_cast<int>(first + i));
      devices.push_back(ipuDevice(id++, std::move(members)));
    }
  }
  devices.push_back(IPUModel().createDevice({}, true, id++));
  devices.push_back(Device::createCPUDevice());
  return devices;
}

std::vector<Device> DeviceManager::getDevices(TargetType type, unsigned requiredNumIPUs,
                                              const OptionFlags &opts) const {
  std::vector<Device> found;
  for (Device &device : getDevices(opts))
    if (device.getTarget().getTargetType() == type &&
        device.getTarget().getNumIPUs() == requiredNumIPUs)
      found.push_back(std::move(device));
  return found;
}

Device DeviceManager::getDevice(unsigned id, const OptionFlags &opts) const {
  for (Device &device : getDevices(opts))
    if (device.getId() == id)
      return std::move(device);
  throw poplar_error("there is no device of id " + std::to_string(id));
}

IPUModel::IPUModel(const char *version) : IPUVersion(version) {
  const emulator::Machine m = emulator::machineOf(version);
  tilesPerIPU = m.tilesPerIPU;
  numWorkerContexts = m.workers;
  memoryBytesPerTile = m.bytesPerTile;
  exchangeBytesPerCycle = m.exchangeBytesPerCycle;
  memcpyBytesPerCycle = m.memcpyBytesPerCycle;
  dataPathWidth = m.dataPathWidth;
  minIPUSyncDelay = m.minSyncDelay;
  globalSyncCycles = m.globalSyncCycles;
  atomicStoreGranularity = m.atomicStoreGranularity;
  interleavedMemoryElementIndex = m.interleavedElement;
  memoryElementOffsets = m.memoryElementOffsets;
  tileClockFrequency = m.clockHz;
}

Device IPUModel::createDevice(OptionFlags, bool, unsigned deviceManagerId) const {
  emulator::Machine m = emulator::machineOf(IPUVersion);
  if (numIPUs == 0 || tilesPerIPU == 0 || numWorkerContexts == 0)
    throw invalid_machine_model("an IPUModel needs at least one IPU, one tile and one worker");
  if (relativeSyncDelay == RelativeSyncDelayType::SINGLE_DELAY ||
      !globalExchangeConstraints.empty() || instructionBytes != 4)
    throw invalid_machine_model("relativeSyncDelay, globalExchangeConstraints and instructionBytes "
                                "of an IPUModel are not emulated: leave them as they are");
  m.type = TargetType::IPU_MODEL;
  m.numIPUs = numIPUs;
  m.tilesPerIPU = tilesPerIPU;
  m.workers = numWorkerContexts;
  m.bytesPerTile = memoryBytesPerTile;
  m.exchangeBytesPerCycle = exchangeBytesPerCycle;
  m.memcpyBytesPerCycle = memcpyBytesPerCycle;
  m.dataPathWidth = dataPathWidth;
  m.minSyncDelay = minIPUSyncDelay;
  m.globalSyncCycles = globalSyncCycles;
  m.atomicStoreGranularity = atomicStoreGranularity;
  m.interleavedElement = interleavedMemoryElementIndex;
  m.memoryElementOffsets = memoryElementOffsets;
  m.clockHz = tileClockFrequency;
  return Device(std::make_shared<DeviceState>(
      DeviceState{deviceManagerId, Target(std::make_shared<emulator::Machine>(m)), {}, true}));
}

} // namespace poplar
