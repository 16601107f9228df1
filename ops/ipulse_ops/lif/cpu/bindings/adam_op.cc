// Adam as a TensorFlow op: it changes the variables of all weights and moments in one pass.
#include "interface/adam.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"

#include "tensorflow_op.h"

namespace {

using namespace ipulse; // NOLINT: the names of TensorFlow
using tensorflow::Var;

REGISTER_OP("IpulseAdam")
    .Input("weights: n * resource")
    .Input("means: n * resource")
    .Input("squares: n * resource")
    .Input("gradients: n * float")
    .Input("update: int64")
    .Input("rate: float")
    .Attr("n: int >= 1")
    .Attr("beta_1: float")
    .Attr("beta_2: float")
    .Attr("epsilon: float")
    .Attr("weight_decay: float")
    .Attr("threads: int")
    .Attr("arch: int")
    .SetIsStateful()
    .SetShapeFn([](InferenceContext *) { return Status(); });

using Variable = tensorflow::core::RefCountPtr<Var>;

// Holds the locks of variables, taken in the order that TensorFlow's own ops take theirs.
class Locked {
public:
  explicit Locked(const std::vector<Variable> &variables) {
    for (const Variable &variable : variables)
      mutexes_.push_back(variable->mu());
    std::sort(mutexes_.begin(), mutexes_.end());
    mutexes_.erase(std::unique(mutexes_.begin(), mutexes_.end()), mutexes_.end());
    for (tensorflow::mutex *mutex : mutexes_)
      mutex->lock();
  }
  ~Locked() {
    for (tensorflow::mutex *mutex : mutexes_)
      mutex->unlock();
  }
  Locked(const Locked &) = delete;
  Locked &operator=(const Locked &) = delete;

private:
  std::vector<tensorflow::mutex *> mutexes_;
};

class AdamOp : public OpKernel {
public:
  explicit AdamOp(OpKernelConstruction *c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("n", &n_));
    OP_REQUIRES_OK(c, c->GetAttr("beta_1", &adam_.beta_1));
    OP_REQUIRES_OK(c, c->GetAttr("beta_2", &adam_.beta_2));
    OP_REQUIRES_OK(c, c->GetAttr("epsilon", &adam_.epsilon));
    OP_REQUIRES_OK(c, c->GetAttr("weight_decay", &adam_.weight_decay));
    int arch;
    OP_REQUIRES_OK(c, c->GetAttr("threads", &adam_.threads));
    OP_REQUIRES_OK(c, c->GetAttr("arch", &arch));
    adam_.version = LIF_ABI_VERSION;
    adam_.arch = static_cast<uint64_t>(arch);
    adam_.matrices = n_;
  }

  void Compute(OpKernelContext *c) override {
    std::vector<Variable> variables(3 * n_); // weights, means, squares
    for (int i = 0; i < 3 * n_; ++i)
      OP_REQUIRES_OK(c, LookupResource(c, HandleFromInput(c, i), &variables[i]));
    const Tensor &update = c->input(4 * n_), &rate = c->input(4 * n_ + 1);
    OP_REQUIRES(c, update.NumElements() == 1 && rate.NumElements() == 1,
                errors::InvalidArgument("update and rate must be scalars; got shapes ",
                                        update.shape().DebugString(), " and ",
                                        rate.shape().DebugString()));
    Locked locked(variables);
    std::vector<LifAdamMatrix> matrices(n_);
    std::vector<Tensor> written(3 * n_);
    for (int i = 0; i < n_; ++i) {
      const Tensor &gradient = c->input(3 * n_ + i);
      const float *from[3];
      float *to[3];
      for (int k = 0; k < 3; ++k) {
        Tensor *present = variables[k * n_ + i]->tensor();
        OP_REQUIRES(
            c, present->dtype() == tensorflow::DT_FLOAT && present->shape() == gradient.shape(),
            errors::InvalidArgument("weights[", i,
                                    "], its moments and its gradient must be float32 of one "
                                    "shape; got ",
                                    tensorflow::DataTypeString(present->dtype()), " ",
                                    present->shape().DebugString(), " and a gradient of shape ",
                                    gradient.shape().DebugString()));
        // Somebody else still reads what the variable holds: leave it to them.
        from[k] = present->flat<float>().data();
        if (!present->RefCountIsOne()) {
          Tensor *fresh = &written[k * n_ + i];
          OP_REQUIRES_OK(c, c->allocate_temp(tensorflow::DT_FLOAT, present->shape(), fresh));
          to[k] = fresh->flat<float>().data();
        } else {
          to[k] = present->flat<float>().data();
        }
      }
      matrices[i] = {gradient.NumElements(),        from[0], from[1], from[2],
                     gradient.flat<float>().data(), to[0],   to[1],   to[2]};
    }
    LifAdam adam = adam_;
    adam.matrix = matrices.data();
    adam.update = update.flat<tensorflow::int64>()(0);
    adam.rate = rate.flat<float>()(0);
    char message[256];
    int code = lif_adam(&adam, message, sizeof message);
    OP_REQUIRES(c, code != LIF_OUT_OF_MEMORY, errors::ResourceExhausted(message));
    OP_REQUIRES(c, code == LIF_OK, errors::InvalidArgument(message));
    for (int i = 0; i < 3 * n_; ++i)
      if (written[i].NumElements())
        *variables[i]->tensor() = written[i];
  }

private:
  int n_;
  LifAdam adam_{};
};

REGISTER_KERNEL_BUILDER(Name("IpulseAdam").Device(tensorflow::DEVICE_CPU), AdamOp);

} // namespace
