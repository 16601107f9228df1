// What REGISTER_OP and REGISTER_KERNEL_BUILDER say of ops, as far as a call needs it: the names of
// inputs and outputs, in order, their types, and the attribute that says how many there are.
#ifndef TESTS_STAND_IN_OP_DEFINITION_H
#define TESTS_STAND_IN_OP_DEFINITION_H

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tensorflow {

class OpKernel;
class OpKernelConstruction;

struct Argument {
  std::string name, number, type; // number: "" for one
};

struct OpDefinition {
  std::vector<Argument> inputs, outputs;
  std::function<std::unique_ptr<OpKernel>(OpKernelConstruction *)> kernel;
};

inline std::map<std::string, OpDefinition> &op_definitions() {
  static std::map<std::string, OpDefinition> all;
  return all;
}

class Registration {
public:
  explicit Registration(const char *op) : op_(&op_definitions()[op]) {}
  Registration &Input(const std::string &text) { return add(&op_->inputs, text); }
  Registration &Output(const std::string &text) { return add(&op_->outputs, text); }
  Registration &Attr(const char *) { return *this; }
  Registration &SetIsStateful() { return *this; }
  // Shapes while tracing are not asked here.
  template <typename Function> Registration &SetShapeFn(Function) { return *this; }

private:
  // "name: type" or "name: number * type"
  Registration &add(std::vector<Argument> *arguments, const std::string &text) {
    const size_t colon = text.find(':'), star = text.find('*');
    const std::string number =
        star == std::string::npos ? "" : text.substr(colon + 2, star - colon - 3);
    const size_t before_type = text.find(' ', star == std::string::npos ? colon : star);
    arguments->push_back({text.substr(0, colon), number, text.substr(before_type + 1)});
    return *this;
  }

  OpDefinition *op_;
};

namespace register_kernel {
struct Name {
  explicit Name(const char *op) : op(op) {}
  Name &Device(const char *) { return *this; }
  const char *op;
};
} // namespace register_kernel

template <typename Kernel> struct KernelRegistration {
  explicit KernelRegistration(const register_kernel::Name &name) {
    op_definitions()[name.op].kernel = [](OpKernelConstruction *c) {
      return std::unique_ptr<OpKernel>(new Kernel(c));
    };
  }
};

} // namespace tensorflow

#define STAND_IN_JOIN(a, b) a##b
#define STAND_IN_NAME(a, b) STAND_IN_JOIN(a, b)
#define REGISTER_OP(name)                                                                          \
  [[maybe_unused]] static const tensorflow::Registration STAND_IN_NAME(registered_, __COUNTER__) = \
      tensorflow::Registration(name)
#define REGISTER_KERNEL_BUILDER(name, kind)                                                        \
  [[maybe_unused]] static const tensorflow::KernelRegistration<kind> STAND_IN_NAME(                \
      registered_, __COUNTER__)(tensorflow::register_kernel::name)

#endif
