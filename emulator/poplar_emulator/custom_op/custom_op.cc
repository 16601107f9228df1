#include "custom_op.h"

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "op_engine.h"

namespace {

using namespace custom_op;
using namespace poplar;

/// Formats an error as TensorFlow does: for errors of Poplar the current stage and the class, and
/// for errors that a reset resolves the kind of reset.
std::string wordsOf(const std::exception &error, const char *doing) {
  const auto *known = dynamic_cast<const poplar_error *>(&error);
  if (!known)
    return error.what();
  std::string words = "[Poplar][" + std::string(doing) + "] " + known->type + ": ";
  if (const auto *curable = dynamic_cast<const recoverable_runtime_error *>(&error))
    words += "[Recovery action: " + toString(curable->getRecoveryAction()) + "] ";
  if (dynamic_cast<const application_runtime_error *>(&error))
    words += "[Recovery action: IPU_RESET] ";
  return words + known->what();
}

/// Runs `body`. `doing` is read if it fails; `body` may have set it.
template <typename Body>
bool reported(const Body &body, const char *const &doing, char *message, std::size_t size) {
  try {
    body();
    return true;
  } catch (const std::exception &error) {
    std::strncpy(message, wordsOf(error, doing).c_str(), size - 1);
    message[size - 1] = 0;
    return false;
  }
}

} // namespace

extern "C" {

void *ipulse_custom_op_compile(const CustomOpCall *call, char *message, size_t size) {
  std::unique_ptr<CompiledOp> op;
  const char *doing = "Build graph";
  reported([&] { op = compile(*call, doing); }, doing, message, size);
  return op.release();
}

int ipulse_custom_op_hashable(const CustomOpCall *call, char *message, size_t size) {
  bool hashable = false;
  const auto body = [&] { hashable = isHashable(*call); };
  return reported(body, "Build graph", message, size) ? hashable : -1;
}

char *ipulse_custom_op_serialize(void *compiled, size_t *bytes, char *message, size_t size) {
  char *copy = nullptr;
  const auto body = [&] {
    const std::string text = serialize(*static_cast<CompiledOp *>(compiled));
    copy = static_cast<char *>(std::malloc(text.size()));
    if (!copy)
      throw std::bad_alloc();
    std::memcpy(copy, text.data(), text.size());
    *bytes = text.size();
  };
  reported(body, "Serialize", message, size);
  return copy;
}

void *ipulse_custom_op_deserialize(const CustomOpCall *call, const char *executable, size_t bytes,
                                   char *message, size_t size) {
  std::unique_ptr<CompiledOp> op;
  const auto body = [&] { op = deserialize(*call, std::string(executable, bytes)); };
  reported(body, "Load engine", message, size);
  return op.release();
}

int ipulse_custom_op_load(void *compiled, char *message, size_t size) {
  auto &op = *static_cast<CompiledOp *>(compiled);
  return reported([&] { onDevice(op); }, "Load engine", message, size) ? 0 : 1;
}

int ipulse_custom_op_forward(void *compiled, const void *const *in, void *const *out, char *message,
                             size_t size) {
  auto &op = *static_cast<CompiledOp *>(compiled);
  const auto body = [&] { forward(op, in, out); };
  return reported(body, "Execute engine", message, size) ? 0 : 1;
}

int ipulse_custom_op_restore(void *compiled, const void *const *inputs, const void *const *outputs,
                             char *message, size_t size) {
  auto &op = *static_cast<CompiledOp *>(compiled);
  const auto body = [&] { restore(op, inputs, outputs); };
  return reported(body, "Execute engine", message, size) ? 0 : 1;
}

int ipulse_custom_op_backward(void *compiled, const void *const *in, void *const *out,
                              char *message, size_t size) {
  auto &op = *static_cast<CompiledOp *>(compiled);
  const auto body = [&] { backward(op, in, out); };
  return reported(body, "Execute engine", message, size) ? 0 : 1;
}

char *ipulse_custom_op_profile(void *compiled) {
  const auto &op = *static_cast<CompiledOp *>(compiled);
  if (!op.engine)
    return nullptr;
  std::ostringstream out;
  serializeToJSON(out, op.engine->getProfile());
  return strdup(out.str().c_str());
}

void ipulse_custom_op_free_text(char *text) { std::free(text); }

void ipulse_custom_op_free(void *compiled) { delete static_cast<CompiledOp *>(compiled); }

} // extern "C"
