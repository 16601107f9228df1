// Names of TensorFlow that the ops share, their errors, and the check of their input spikes.
#ifndef IPULSE_OPS_LIF_CPU_SHARED_OP_H
#define IPULSE_OPS_LIF_CPU_SHARED_OP_H

#include "interface/lif.h"

#include "tensorflow_op.h"

namespace ipulse_lif {

using namespace ipulse; // NOLINT: the names of TensorFlow

inline Status status(int code, const char *message) {
  if (code == LIF_OK)
    return Status();
  if (code == LIF_OUT_OF_MEMORY)
    return errors::ResourceExhausted(message);
  return errors::InvalidArgument(message);
}

// Checks the shapes of the spikes that enter a network or a convolution.
inline Status check_spikes(const Tensor &ids, const Tensor &counts, const Tensor &port,
                           const Tensor &filled) {
  if (ids.dims() != 3 || counts.dims() != 2 || counts.dim_size(0) != ids.dim_size(0) ||
      counts.dim_size(1) != ids.dim_size(1))
    return errors::InvalidArgument(
        "ids must be [time, batch, slots] and counts [time, batch]; got shapes ",
        ids.shape().DebugString(), " and ", counts.shape().DebugString());
  if (port.NumElements() && !(port.shape() == ids.shape()))
    return errors::InvalidArgument("port must have the shape of ids; got shapes ",
                                   port.shape().DebugString(), " and ", ids.shape().DebugString());
  if (filled.dims() != 1 && !(filled.shape() == counts.shape()))
    return errors::InvalidArgument("filled must have the shape of counts; got shapes ",
                                   filled.shape().DebugString(), " and ",
                                   counts.shape().DebugString());
  return Status();
}

} // namespace ipulse_lif

#endif
