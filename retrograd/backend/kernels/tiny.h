/* What the files of the module `_tiny` share: operands, new arrays, and the functions that draws.c adds to it. */
#ifndef RETROGRAD_TINY_H
#define RETROGRAD_TINY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL retrograd_tiny_array_api
#include <numpy/arrayobject.h>

#include "kinds.h"

#define LARGEST_NDIM 32

#define ARRAY(object) ((PyArrayObject *)(object))

/* The kind of a small, contiguous (either order), aligned array that is no subclass; NOT_PLAIN for the rest. */
Kind plain_kind(PyObject *object, npy_intp largest_size);

/* The kind that a dtype, or a type of NumPy's scalars, stands for. */
Kind requested_kind(PyObject *dtype);

PyObject *new_array(int ndim, const npy_intp *shape, Kind kind, int fortran_order);

/* Whether a function got another number of arguments; then the error is set. */
int wrong_count(const char *name, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most);

/* numbers.c */
PyObject *tiny_from_numbers(PyObject *module, PyObject *const *arguments, Py_ssize_t given);

/* threads.c */
PyObject *tiny_set_threads(PyObject *module, PyObject *const *arguments, Py_ssize_t given);
int add_threads(PyObject *module);

/* Where the compiler can build a function for several processors, the loader chooses among them. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

/* ---- draws.c and twister.c ------------------------------------------------------------------------------------------------ */

#define DRAWS(entry)                                                                                      \
    entry(draw_again, "draw_again(generator, rows, count): indices for each row, which may come again.")  \
    entry(draw_uniform, "draw_uniform(generator, shape, dtype, low, high): uniform numbers, or None.")    \
    entry(draw_normal, "draw_normal(generator, shape, dtype, mean, std): normal numbers, or None.")       \
    entry(draw_exponential, "draw_exponential(generator, array, dtype, rate): numbers, or None.")         \
    entry(draw_cauchy, "draw_cauchy(generator, array, dtype, median, sigma): numbers, or None.")           \
    entry(draw_log_normal, "draw_log_normal(generator, array, dtype, mean, std): numbers, or None.")      \
    entry(draw_geometric, "draw_geometric(generator, array, dtype, chance): numbers, or None.")           \
    entry(draw_ones, "draw_ones(generator, shape, dtype, chance): ones and zeros, or None.")              \
    entry(draw_chances, "draw_chances(generator, chances): a one or a zero for each, or None.")           \
    entry(draw_indices, "draw_indices(generator, rows): an index for each row of weights, or None.")      \
    entry(draw_integers, "draw_integers(generator, shape, dtype, low, high): whole numbers in [low, high), or None.") \
    entry(draw_scores, "draw_scores(generator, rows): weight / exponential number for each, or None.")     \
    entry(largest_places, "largest_places(rows, count): of the largest numbers of each row, or None.")    \
    entry(draw_order, "draw_order(generator, count): 0 .. count - 1 in random order, or None.")           \
    entry(start_twister, "start_twister(key, seed): the key of a seed.")                                  \
    entry(twist, "twist(key, words): fills an array with the next blocks of words.")

#define DECLARE_DRAW(name, text) PyObject *tiny_##name(PyObject *module, PyObject *const *arguments, Py_ssize_t given);
DRAWS(DECLARE_DRAW)

void start_draws(void); /* finds out what the processor can */

#endif
