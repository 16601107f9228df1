#ifndef poplar_DeviceManager_hpp
#define poplar_DeviceManager_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <vector>

#include <poplar/Device.hpp>

namespace poplar {

/// Lists devices. Here every IPU is emulated: $IPULSE_EMULATOR_IPUS of them (default 4), of the
/// architecture $IPULSE_EMULATOR_ARCH (default ipu2).
class DeviceManager {
public:
  DeviceManager() = default;
  static DeviceManager createDeviceManager() { return {}; }

  std::size_t getNumDevices() const;
  /// Every device of every kind.
  std::vector<Device> getDevices(const OptionFlags &opts = {}) const;
  /// Returns the devices of one kind with exactly requiredNumIPUs.
  std::vector<Device> getDevices(TargetType type, unsigned requiredNumIPUs,
                                 const OptionFlags &opts = {}) const;
  /// Raises poplar_error if no device has that id.
  Device getDevice(unsigned id, const OptionFlags &opts = {}) const;
};

} // namespace poplar

#endif
