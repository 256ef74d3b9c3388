/* What the functions of `_rows` ask of arrays, and the build and the threads that they run on. */
#ifndef RETROGRAD_ROWS_ARRAYS_H
#define RETROGRAD_ROWS_ARRAYS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL retrograd_rows_arrays
#ifndef IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "../threads.h"
#include "rows.h"

#define ARRAY(object) ((PyArrayObject *)(object))
#define SHORT_WORK 1024 /* elements: up to here results have NumPy's bits, as those of the core's kernels for small arrays do */
#define LONG_WORK 8192 /* elements: from here on other threads may run meanwhile */

extern const RowLoops *row_loops; /* the build in use */
extern const ThreadPool *row_pool;

extern PyMethodDef sum_methods[], channel_methods[];                   /* sums.c, channels.c */
extern PyMethodDef taking_methods[], adding_methods[];                /* taking.c, adding.c */
extern PyMethodDef running_methods[], logsumexp_methods[];            /* running.c, logsumexp.c */
extern PyMethodDef element_methods[];                                 /* elementwise.c */
extern PyMethodDef recurrent_methods[];                               /* recurrent.c */
extern PyMethodDef attention_methods[], loss_methods[];               /* attention.c, losses.c */
extern PyMethodDef product_methods[];                                 /* products.c */

/* 0 for an array of float32, 1 of float64, -1 for anything else. */
static inline int
type_number(PyObject *object)
{
    if (!PyArray_CheckExact(object) || !PyArray_ISNOTSWAPPED(ARRAY(object))) {
        return -1;
    }
    const int type = PyArray_TYPE(ARRAY(object));
    return type == NPY_FLOAT32 ? 0 : type == NPY_FLOAT64 ? 1 : -1;
}

/* Whether elements lie row by row, one after the other, each at an address that fits its type. */
static inline int
is_plain(PyObject *array)
{
    return PyArray_IS_C_CONTIGUOUS(ARRAY(array)) && PyArray_ISALIGNED(ARRAY(array));
}

static inline int
are_same_shape(PyObject *a, PyObject *b)
{
    return PyArray_NDIM(ARRAY(a)) == PyArray_NDIM(ARRAY(b))
           && PyArray_CompareLists(PyArray_DIMS(ARRAY(a)), PyArray_DIMS(ARRAY(b)), PyArray_NDIM(ARRAY(a)));
}

/* The same elements row by row and aligned: the array itself or a copy, a new reference. In module.c. */
PyObject *by_rows(PyObject *array);

typedef struct {
    npy_intp count, length;
} Rows;

/* Whether `dim` is the last dimension of an array that is not short; then its rows. In module.c. */
int read_rows(PyObject *array, PyObject *dim, Rows *rows);

/* Dense and aligned, in rows or in columns. */
static inline int
is_dense(PyObject *array)
{
    return PyArray_ISALIGNED(ARRAY(array))
           && (PyArray_IS_C_CONTIGUOUS(ARRAY(array)) || PyArray_IS_F_CONTIGUOUS(ARRAY(array)));
}

static inline int
are_laid_alike(PyObject *a, PyObject *b)
{
    return (PyArray_IS_C_CONTIGUOUS(ARRAY(a)) && PyArray_IS_C_CONTIGUOUS(ARRAY(b)))
           || (PyArray_IS_F_CONTIGUOUS(ARRAY(a)) && PyArray_IS_F_CONTIGUOUS(ARRAY(b)));
}

/* A new array of the shape and type; in columns where `array` is so. */
static inline PyObject *
new_like(PyObject *array)
{
    const int in_columns = !PyArray_IS_C_CONTIGUOUS(ARRAY(array)) && PyArray_IS_F_CONTIGUOUS(ARRAY(array));
    return PyArray_EMPTY(PyArray_NDIM(ARRAY(array)), PyArray_DIMS(ARRAY(array)), PyArray_TYPE(ARRAY(array)), in_columns);
}

static inline int
has_count(Py_ssize_t count, Py_ssize_t wanted, const char *name)
{
    if (count != wanted) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, %zd were given", name, wanted, count);
    }
    return count == wanted;
}

#define WITHOUT_LOCK(size, work)                                                    \
    do {                                                                            \
        PyThreadState *released = (size) >= LONG_WORK ? PyEval_SaveThread() : NULL; \
        work;                                                                       \
        if (released != NULL) {                                                     \
            PyEval_RestoreThread(released);                                         \
        }                                                                           \
    } while (0)

#endif
