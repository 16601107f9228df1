#ifndef poplar_Device_hpp
#define poplar_Device_hpp

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <poplar/Target.hpp>

namespace poplar {

namespace emulator {
struct DeviceState;
}

/// Something that runs programs: an emulated IPU, the IPU model or the CPU.
class Device {
public:
  Device();
  Device(Device &&) noexcept;
  Device &operator=(Device &&) noexcept;
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  ~Device();
  static Device createCPUDevice(unsigned numIPUs = 1);
  /// Creates an emulated device instead of the SDK's simulator, as an IPUModel does. Raises
  /// invalid_machine_model for a target without IPUs. [M] the arguments
  static Device createSimulatorDevice(const Target &target, const OptionFlags &options = {});

  unsigned getId() const;
  const Target &getTarget() const;
  const std::vector<int> &getDriverIDs() const;
  /// Returns what the driver knows of the first IPU, by name; empty unless it is an emulated IPU.
  std::map<std::string, std::string> getAttributes() const;
  bool supportsRemoteBuffers() const { return true; }
  bool hasGateway() const { return false; }
  /// Returns false if another Device object of this process has the IPU.
  bool attach() const;
  void detach() const;
  bool isAttached() const;
  void reset() const {}
  Device createVirtualDevice(unsigned tilesPerIPU);

  // For internal use.
  explicit Device(std::shared_ptr<emulator::DeviceState> state);
  const std::shared_ptr<emulator::DeviceState> &getState() const { return state; }

private:
  std::shared_ptr<emulator::DeviceState> state;
};

} // namespace poplar

#endif
