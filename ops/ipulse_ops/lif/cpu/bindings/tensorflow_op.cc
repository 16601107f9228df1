// The kernels as TensorFlow ops, in one translation unit: TensorFlow's headers take most of the
// time of a build. Every output is float32: TensorFlow gives integer outputs no gradient, and a
// loop that differentiates them meets None. What the backward pass reads travels as the bits of
// floats; no arithmetic ever touches it.

#include "conv_op.h"
#include "forward_op.h"
#include "gradient_op.h"
#include "loss_op.h"
#include "slots_op.h"
#include "spike_conv_op.h"
