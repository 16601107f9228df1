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
  enum class Result { Success, NotAvailable };
  virtual ~StreamCallback() = default;
  virtual Result prefetch(void *p) = 0;
  virtual void fetch(void *p) = 0;
  virtual void complete() = 0;
  virtual void invalidatePrefetched() {}
};

/// A StreamCallback with an empty prefetch: fetch does the work.
class LegacyStreamCallback : public StreamCallback {
public:
  explicit LegacyStreamCallback(std::function<void(void *)> f) : f(std::move(f)) {}
  Result prefetch(void *) override { return Result::NotAvailable; }
  void fetch(void *p) override { f(p); }
  void complete() override {}

private:
  std::function<void(void *)> f;
};

/// Owns a StreamCallback, constructed from a function or a unique_ptr.
class StreamCallbackHandle {
public:
  template <typename Callback, typename = typename std::enable_if<
                                   std::is_base_of<StreamCallback, Callback>::value>::type>
  StreamCallbackHandle(std::unique_ptr<Callback> callback) : callback(std::move(callback)) {}
  template <typename F, typename = decltype(std::declval<F>()(static_cast<void *>(nullptr)))>
  StreamCallbackHandle(F &&f) : callback(new LegacyStreamCallback(std::forward<F>(f))) {}
  StreamCallbackHandle(StreamCallbackHandle &&) = default;
  StreamCallbackHandle &operator=(StreamCallbackHandle &&) = default;

  StreamCallback &operator*() const { return *callback; }
  StreamCallback *operator->() const { return callback.get(); }

private:
  std::unique_ptr<StreamCallback> callback;
};

} // namespace poplar

#endif
