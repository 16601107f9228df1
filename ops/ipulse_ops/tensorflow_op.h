// Names of TensorFlow that all ops share, for TensorFlow 2.6 and later.
#ifndef IPULSE_OPS_TENSORFLOW_OP_H
#define IPULSE_OPS_TENSORFLOW_OP_H

// Words that TensorFlow 2.6 needs are deprecated in later releases.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#include <utility>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace ipulse {

using tensorflow::Allocator;
using tensorflow::OpInputList;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::OpOutputList;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::shape_inference::DimensionHandle;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;
namespace errors = tensorflow::errors;

// TensorFlow's name for it moves between releases.
using Status = decltype(std::declval<InferenceContext &>().WithRank({}, 0, nullptr));

inline float *floats_of(Tensor *tensor) { return tensor->flat<float>().data(); }
inline const float *floats_of(const Tensor &tensor) { return tensor.flat<float>().data(); }

} // namespace ipulse

#endif
