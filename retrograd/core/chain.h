/* Steps of elementwise rules that are put off, to be done together; see chain.c. */
#ifndef RETROGRAD_CHAIN_H
#define RETROGRAD_CHAIN_H

#include "engine.h"

/* Loops over memory, compiled for the vector units of several processors where the compiler can choose at start. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

/* The result may lie where an operand does, element on element: no element reads what another one wrote. */
#if defined(__clang__)
#define EACH_ALONE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define EACH_ALONE _Pragma("GCC ivdep")
#else
#define EACH_ALONE
#endif

/* A loop over the gradient and up to two other values that lie alike (the first may be a mask of bools); the result may lie
 * where any of them does. */
typedef void (*Loop)(const void *gradient, const void *first, const void *second, double number, void *result,
                     npy_intp count);

/* What a step reads; `first` and `second` may be NULL. Arrays of floats are alike, a mask lies as they do, by rows. */
typedef struct {
    PyObject *gradient, *first, *second;
    double number;
} Operands;

/* Whether a step can be put off: 1 if they are large, and lie as those of the steps that wait;
 * 0 if not, and then none of them is only promised (what waited may have been done for that); -1 with an error set. */
int chain_takes(Chain *chain, const Operands *operands);

/* The result of a step, promised; `loops` has one for float32 and one for float64. NULL with an error set. */
PyObject *chain_step(Chain *chain, const Loop *loops, const Operands *operands);

/* An array of a shape with one number everywhere, promised; NULL without an error: not a case for the chain. */
PyObject *chain_constant(Chain *chain, int ndim, const npy_intp *shape, PyArray_Descr *dtype, double number);

#endif
