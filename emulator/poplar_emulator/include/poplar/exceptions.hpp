#ifndef poplar_exceptions_hpp
#define poplar_exceptions_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <stdexcept>
#include <string>

#include <poplar/StandardHeaders.hpp>

namespace poplar {

/// The base class of every error of the library. `type` is the name of the class.
struct poplar_error : public std::runtime_error {
  std::string type;
  explicit poplar_error(const std::string &s) : poplar_error("poplar_error", s) {}
  explicit poplar_error(const char *s) : poplar_error(std::string(s)) {}

protected:
  poplar_error(const char *type, const std::string &s) : std::runtime_error(s), type(type) {}
};

/// The action that restores a device after a recoverable_runtime_error.
enum class RecoveryAction { IPU_RESET, LINK_RESET, PARTITION_RESET, FULL_RESET };
std::string toString(RecoveryAction action);

struct runtime_error : public poplar_error {
  explicit runtime_error(const std::string &s) : poplar_error("runtime_error", s) {}

protected:
  runtime_error(const char *type, const std::string &s) : poplar_error(type, s) {}
};

/// The program caused the error: a tile raised an exception.
struct application_runtime_error : public runtime_error {
  explicit application_runtime_error(const std::string &s)
      : runtime_error("application_runtime_error", s) {}
};

struct system_runtime_error : public runtime_error {
  explicit system_runtime_error(const std::string &s) : runtime_error("system_runtime_error", s) {}

protected:
  system_runtime_error(const char *type, const std::string &s) : runtime_error(type, s) {}
};

struct recoverable_runtime_error : public system_runtime_error {
  recoverable_runtime_error(RecoveryAction action, const std::string &s)
      : system_runtime_error("recoverable_runtime_error", s), action(action) {}
  RecoveryAction getRecoveryAction() const { return action; }

private:
  RecoveryAction action;
};

struct unrecoverable_runtime_error : public system_runtime_error {
  explicit unrecoverable_runtime_error(const std::string &s)
      : system_runtime_error("unrecoverable_runtime_error", s) {}
};

/// An error class with nothing but a message: Name is the tag of the class.
#define POPLAR_PLAIN_ERROR(NAME)                                                                   \
  struct NAME : public poplar_error {                                                              \
    explicit NAME(const std::string &s) : poplar_error(#NAME, s) {}                                \
    explicit NAME(const char *s) : poplar_error(#NAME, s) {}                                       \
  }

POPLAR_PLAIN_ERROR(control_program_error);
POPLAR_PLAIN_ERROR(file_load_error);
POPLAR_PLAIN_ERROR(graph_connection_error);
POPLAR_PLAIN_ERROR(graph_cycle_error);
POPLAR_PLAIN_ERROR(graph_object_creation_error);
POPLAR_PLAIN_ERROR(graph_object_load_error);
POPLAR_PLAIN_ERROR(graph_program_compilation_error);
POPLAR_PLAIN_ERROR(graph_recursion_error);
POPLAR_PLAIN_ERROR(graph_replication_error);
POPLAR_PLAIN_ERROR(index_error);
POPLAR_PLAIN_ERROR(invalid_machine_model);
POPLAR_PLAIN_ERROR(invalid_option);
POPLAR_PLAIN_ERROR(invalid_tile_mapping);
POPLAR_PLAIN_ERROR(memory_elem_constraints_error);
POPLAR_PLAIN_ERROR(missing_cycle_estimate);
POPLAR_PLAIN_ERROR(missing_perf_estimate);
POPLAR_PLAIN_ERROR(no_environment);
POPLAR_PLAIN_ERROR(no_size_specified);
POPLAR_PLAIN_ERROR(overflow_error);
POPLAR_PLAIN_ERROR(parse_error);
POPLAR_PLAIN_ERROR(profiling_disabled);
POPLAR_PLAIN_ERROR(stream_connection_error);
POPLAR_PLAIN_ERROR(stream_memory_allocation_error);
POPLAR_PLAIN_ERROR(symbol_error);
POPLAR_PLAIN_ERROR(tensor_creation_error);
POPLAR_PLAIN_ERROR(tensor_io_state_error);
POPLAR_PLAIN_ERROR(total_symbol_size_error);
POPLAR_PLAIN_ERROR(type_error);
POPLAR_PLAIN_ERROR(undefined_tile_mapping);
POPLAR_PLAIN_ERROR(unknown_field);
POPLAR_PLAIN_ERROR(unknown_vertex_type);

#undef POPLAR_PLAIN_ERROR

/// The variables of a tile exceed its memory. `profilePath` is the profile that was written, if
/// any.
struct graph_memory_allocation_error : public poplar_error {
  std::string profilePath;
  explicit graph_memory_allocation_error(const std::string &s, std::string profilePath = "")
      : poplar_error("graph_memory_allocation_error", s), profilePath(std::move(profilePath)) {}
};

/// The compiler or linker failed for codelets; `output` is its output.
struct link_error : public poplar_error {
  std::string output;
  explicit link_error(const std::string &s, std::string output = "")
      : poplar_error("link_error", s), output(std::move(output)) {}
};

} // namespace poplar

#endif
