#ifndef poplar_HostFunctionCallback_hpp
#define poplar_HostFunctionCallback_hpp

#include <poplar/HostCallback.hpp>

#endif
