#ifndef poplar_EngineOptions_hpp
#define poplar_EngineOptions_hpp

#include <poplar/Engine.hpp>

#endif
