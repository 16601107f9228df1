#ifndef poplar_HostCallback_hpp
#define poplar_HostCallback_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <poplar/ArrayRef.hpp>

namespace poplar {

/// The host's part of a HostFunction, with the data of its inputs and outputs.
class HostCallback {
public:
  virtual ~HostCallback() = default;
  virtual void operator()(ArrayRef<const void *> inputs, ArrayRef<void *> outputs) = 0;
};

/// Owns a HostCallback, constructed from a unique_ptr or a function that takes ranges, ranges and
/// their sizes, or pointers and sizes.
class HostCallbackHandle {
  using In = ArrayRef<const void *>;
  using Out = ArrayRef<void *>;

  /// The first of these signatures that F accepts.
  template <typename F> static auto call(F &f, In in, Out out, int, int) -> decltype(f(in, out)) {
    return f(in, out);
  }
  template <typename F>
  static auto call(F &f, In in, Out out, int, long) -> decltype(f(in, in.size(), out, out.size())) {
    return f(in, in.size(), out, out.size());
  }
  template <typename F>
  static auto call(F &f, In in, Out out, long, long)
      -> decltype(f(in.data(), in.size(), out.data(), out.size())) {
    return f(in.data(), in.size(), out.data(), out.size());
  }

  template <typename F> struct Function : HostCallback {
    explicit Function(F f) : f(std::move(f)) {}
    void operator()(In in, Out out) override { call(f, in, out, 0, 0); }
    F f;
  };

public:
  template <typename Callback, typename = typename std::enable_if<
                                   std::is_base_of<HostCallback, Callback>::value>::type>
  HostCallbackHandle(std::unique_ptr<Callback> callback) : callback(std::move(callback)) {}
  template <typename F, typename = decltype(call(std::declval<F &>(), In(), Out(), 0, 0))>
  HostCallbackHandle(F f) : callback(new Function<F>(std::move(f))) {}

  HostCallback &operator*() const { return *callback; }

private:
  std::unique_ptr<HostCallback> callback;
};

} // namespace poplar

#endif
