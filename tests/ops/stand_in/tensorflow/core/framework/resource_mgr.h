#include "resource_var.h"
