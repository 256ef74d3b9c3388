/* What the functions of the module share: reading arrays and options before a loop touches memory. */
#ifndef RETROGRAD_WINDOWS_MODULE_H
#define RETROGRAD_WINDOWS_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#ifndef IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#define PY_ARRAY_UNIQUE_SYMBOL RETROGRAD_WINDOWS_ARRAY_API
#include <numpy/arrayobject.h>

#include "../threads.h"
#include "windows.h"

#define ARRAY(object) ((PyArrayObject *)(object))

extern const WindowLoops *window_loops;
extern const ThreadPool *window_pool; /* NULL: one thread does all */

/* 0 for an array of float32, 1 of float64, -1 for anything else. */
int type_number(PyObject *object);

/* The same elements row by row and aligned: the array itself or a copy, a new reference. */
PyObject *by_rows(PyObject *array);

/* Whether images or volumes have their channels beside each other, so that results should too. */
int is_channels_last(PyObject *array);

/* Reads a tuple of `count` whole numbers of at least `least`; 0 if it is none. */
int read_sizes(PyObject *object, int count, Py_ssize_t least, ptrdiff_t *sizes);

/* Reads one such number; 0 if it is none. */
int read_size(PyObject *object, Py_ssize_t least, ptrdiff_t *size);

/* Whether so many arguments were given; raises if not. */
int has_count(Py_ssize_t count, Py_ssize_t wanted, const char *name);

#define LARGEST_SIZE ((ptrdiff_t)1 << 31) /* of a dimension or option, so that products of two do not overflow */

/* Leaves the function, with None, where it does not take what it was given. */
#define NOT_TAKEN(taken)        \
    if (!(taken)) {             \
        if (PyErr_Occurred()) { \
            return NULL;        \
        }                       \
        Py_RETURN_NONE;         \
    }

/* The module's functions by topic. */
#define DECLARE(name) PyObject *windows_##name(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
DECLARE(convolution)
DECLARE(convolution_at)
DECLARE(convolution_input_gradient)
DECLARE(convolution_weight_gradient)
DECLARE(planes_norm)
DECLARE(planes_norm_gradients)
DECLARE(max_pool)
DECLARE(adaptive_max_pool)
DECLARE(max_pool2d_gradient)
DECLARE(max_pool3d_gradient)
DECLARE(scatter_places)
DECLARE(avg_pool)
DECLARE(avg_pool_gradient)
DECLARE(adaptive_avg_pool)
DECLARE(adaptive_avg_pool2d_gradient)
DECLARE(adaptive_avg_pool3d_gradient)
#undef DECLARE

#endif
