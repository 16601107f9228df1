#ifndef arch_gc_tile_defines_h
#define arch_gc_tile_defines_h

#include <poplar/TileConstants.hpp>

#endif
