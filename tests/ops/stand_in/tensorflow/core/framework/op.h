#include "op_definition.h"
