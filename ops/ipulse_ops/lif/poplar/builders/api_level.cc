#include <cstdint>
#include <map>
#include <vector>

#include "api_level.h"

std::int32_t custom_op_api_level = IPU_OP_API_LEVEL;
