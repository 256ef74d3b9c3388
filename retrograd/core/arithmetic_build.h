/* One build of all loops: a file sets the processor, defines BUILD as the name of its table, and includes this. */
#include "arithmetic.h"

#include <math.h>

#define REAL float
#define ROOT sqrtf
#define MAGNITUDE fabsf
#define NAMED(name) name##_of_floats
#include "arithmetic_loops.h"
#undef REAL
#undef ROOT
#undef MAGNITUDE
#undef NAMED

#define REAL double
#define ROOT sqrt
#define MAGNITUDE fabs
#define NAMED(name) name##_of_doubles
#include "arithmetic_loops.h"

#define PAIR(name) {name##_of_floats, name##_of_doubles}

const Arithmetic BUILD = {
    .name = BUILD_NAME,
    .sgd = PAIR(sgd),
    .adam = PAIR(adam),
    .rmsprop = PAIR(rmsprop),
    .adagrad = PAIR(adagrad),
    .nadam = PAIR(nadam),
    .radam = PAIR(radam),
    .adamax = PAIR(adamax),
    .adadelta = PAIR(adadelta),
    .asgd = PAIR(asgd),
    .rprop = PAIR(rprop),
    .scale = PAIR(scale),
    .clamp = PAIR(clamp),
};
