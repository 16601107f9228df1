#ifndef poplar_StreamCallback_hpp
#define poplar_StreamCallback_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace poplar {

/// The host's part of a copy from or to a stream.
class StreamCallback {
public:
  enum Result { Success, NotAvailable };
  virtual ~StreamCallback() = default;
  virtual Result prefetch(void *p) = 0;
  virtual void fetch(void *p) = 0;
  virtual void complete() = 0;
  virtual void invalidatePrefetched() {}
};

/// A StreamCallback with no prefetch: its fetch fills the buffer.
class LegacyStreamCallback : public StreamCallback {
public:
  Result prefetch(void *) final { return Result::NotAvailable; }
  void complete() final {}
  void invalidatePrefetched() final {}
};

/// Owns a StreamCallback, constructed from a function or a unique_ptr.
class StreamCallbackHandle {
  template <typename F> struct Function : LegacyStreamCallback {
    explicit Function(F f) : f(std::move(f)) {}
    void fetch(void *p) override { f(p); }
    F f;
  };

public:
  template <typename Callback, typename = typename std::enable_if<
                                   std::is_base_of<StreamCallback, Callback>::value>::type>
  StreamCallbackHandle(std::unique_ptr<Callback> callback) : callback(std::move(callback)) {}
  template <typename F, typename = decltype(std::declval<typename std::decay<F>::type &>()(
                            static_cast<void *>(nullptr)))>
  StreamCallbackHandle(F &&f)
      : callback(new Function<typename std::decay<F>::type>(std::forward<F>(f))) {}
  StreamCallbackHandle(StreamCallbackHandle &&) = default;
  StreamCallbackHandle &operator=(StreamCallbackHandle &&) = default;

  StreamCallback &operator*() const { return *callback; }
  StreamCallback *operator->() const { return callback.get(); }

private:
  std::unique_ptr<StreamCallback> callback;
};

} // namespace poplar

#endif
