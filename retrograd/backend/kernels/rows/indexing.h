/* What reading and adding through an index have in common.
 *
 * An index is read in stretches, each checked before anything is read or written through it. Where a number is out of bounds
 * the result is dropped, and the neutral kernel, which says so, runs instead.
 */
#ifndef RETROGRAD_ROWS_INDEXING_H
#define RETROGRAD_ROWS_INDEXING_H

#include "arrays.h"

#define INDEX_STRETCH 512 /* numbers that are checked and used while they are in the nearest cache */

/* The dimension `dim` of an array, with all before it as one and all after it as one. */
typedef struct {
    npy_intp outer, size, inner;
} Split;

/* int64 in the machine's order, row by row. */
static inline int
is_index(PyObject *object)
{
    return PyArray_CheckExact(object) && PyArray_TYPE(ARRAY(object)) == NPY_INT64 && PyArray_ISNOTSWAPPED(ARRAY(object))
           && is_plain(object);
}

/* Whether all of some places are in [0, size): none, and no distance to the last one, has a sign. */
static inline int
are_within(const npy_int64 *places, npy_intp count, npy_intp size)
{
    return row_loops->are_within(places, count, size);
}

/* A dimension of `ndim`, counted from the end if it is negative; -1: there is none. */
static inline int
read_axis(PyObject *dim, int ndim)
{
    int overflow = 1;
    long axis = PyLong_CheckExact(dim) ? PyLong_AsLongAndOverflow(dim, &overflow) : -1;
    axis += !overflow && axis < 0 ? ndim : 0;
    return overflow || axis < 0 || axis >= ndim ? -1 : (int)axis;
}

static inline Split
split_at(int ndim, const npy_intp *shape, int axis)
{
    Split found = {1, shape[axis], 1};
    for (int at = 0; at < ndim; at++) {
        *(at < axis ? &found.outer : &found.inner) *= at == axis ? 1 : shape[at];
    }
    return found;
}

/* Whether two arrays have the same sizes but along one dimension. */
static inline int
match_beside(int ndim, const npy_intp *shape, const npy_intp *other, int axis)
{
    for (int at = 0; at < ndim; at++) {
        if (at != axis && shape[at] != other[at]) {
            return 0;
        }
    }
    return 1;
}

static inline npy_intp
least(npy_intp a, npy_intp b)
{
    return a < b ? a : b;
}

/* Pieces for threads: as many rows as have THREAD_GRAIN elements. */
static inline npy_intp
rows_worth_a_thread(npy_intp length)
{
    return length == 0 ? 1 : (THREAD_GRAIN + length - 1) / length;
}

#endif
