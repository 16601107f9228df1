#ifndef poplar_Assigned_hpp
#define poplar_Assigned_hpp

// Not part of Poplar.

#include <memory>
#include <string>
#include <utility>

#include <poplar/exceptions.hpp>

namespace poplar {

namespace emulator {

/// A shared pointer of a class that a program may default-construct and assign later. Any use
/// before that raises poplar_error.
template <typename T> class Assigned {
public:
  Assigned() = default;
  Assigned(std::shared_ptr<T> pointer) : pointer(std::move(pointer)) {}
  const std::shared_ptr<T> &get() const {
    if (!pointer)
      throw poplar_error(std::string("a default-constructed or moved-from ") + T::kPublicClass +
                         " is empty: assign one that is not before you use it");
    return pointer;
  }
  T *operator->() const { return get().get(); }
  T &operator*() const { return *get(); }

private:
  std::shared_ptr<T> pointer;
};

} // namespace emulator

} // namespace poplar

#endif
