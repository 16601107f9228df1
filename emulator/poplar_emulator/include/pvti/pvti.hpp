#ifndef pvti_pvti_hpp
#define pvti_pvti_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <cstddef>
#include <string>

#include <poplar/StandardHeaders.hpp>

/// Traces for the System Analyser. Programs that record them run; nothing is recorded here.
namespace pvti {

class TraceChannel {
public:
  TraceChannel(std::string name);
  TraceChannel(const char *name);
  const std::string &getName() const { return name; }

private:
  std::string name;
};

TraceChannel createTraceChannel(const std::string &name);
/// Returns false.
bool checkTracingEnabled();

/// Details of a trace point.
class Metadata {};

class Tracepoint {
public:
  Tracepoint(TraceChannel *, const char *, std::size_t, Metadata * = nullptr);
  Tracepoint(TraceChannel &, const char *, std::size_t, Metadata * = nullptr);
  Tracepoint(TraceChannel *, const std::string &);
  Tracepoint(TraceChannel &, const std::string &);
  Tracepoint(const Tracepoint &) = delete;
  Tracepoint &operator=(const Tracepoint &) = delete;
  static void begin(TraceChannel *, const std::string &);
  static void end(TraceChannel *, const std::string &);
  static void event(TraceChannel *, const std::string &);
};

/// Series of numbers over time.
class Graph {
public:
  explicit Graph(const std::string &, const std::string & = "");
  class Series {
  public:
    void add(double) const;
  };
  Series addSeries(const std::string &);
};

} // namespace pvti

#endif
