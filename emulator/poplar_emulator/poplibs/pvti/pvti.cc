#include <pvti/pvti.hpp>

namespace pvti {

TraceChannel::TraceChannel(std::string name) : name(std::move(name)) {}
TraceChannel::TraceChannel(const char *name) : name(name) {}
TraceChannel createTraceChannel(const std::string &name) { return TraceChannel(name); }
bool checkTracingEnabled() { return false; }

Tracepoint::Tracepoint(TraceChannel *, const char *, std::size_t, Metadata *) {}
Tracepoint::Tracepoint(TraceChannel &, const char *, std::size_t, Metadata *) {}
Tracepoint::Tracepoint(TraceChannel *, const std::string &) {}
Tracepoint::Tracepoint(TraceChannel &, const std::string &) {}
void Tracepoint::begin(TraceChannel *, const std::string &) {}
void Tracepoint::end(TraceChannel *, const std::string &) {}
void Tracepoint::event(TraceChannel *, const std::string &) {}

Graph::Graph(const std::string &, const std::string &) {}
void Graph::Series::add(double) const {}
Graph::Series Graph::addSeries(const std::string &) { return {}; }

} // namespace pvti
