// All ops as one translation unit: TensorFlow's headers take most of the time of a build.

#include "add_op.h"
#include "delay_op.h"
#include "dense_op.h"
#include "dropout_op.h"
#include "matmul_op.h"
#include "pool_op.h"
#include "random_op.h"
#include "select_op.h"
