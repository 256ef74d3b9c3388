/* What the files with compiled rules share. A rule is that of an op's declaration, step by step; see rules.c. */
#ifndef RETROGRAD_RULES_H
#define RETROGRAD_RULES_H

#include "chain.h"

extern const NamedRule shape_rules[], row_rules[], product_rules[]; /* each ends with an empty entry */

/* The functions that Python rules on arrays call, for what is not computed here: `RAW.mul` and so on. */
typedef struct {
    PyObject *mul, *div, *neg, *mm, *exp, *sin, *cos, *pow, *sum_to_size;
    PyObject *product; /* of matrices, compiled; None where it is not in use */
} RawFunctions;

extern RawFunctions raw_functions;

/* Zeros of a shape with the gradient in the places that indices name along a dimension, one for each element of the
 * gradient. As a rule: 1, 0 or -1. (rules_shapes.c) */
int put_along(PyObject *g, PyObject *index, const npy_intp *shape, int ndim, int dim, Results *results);

#define RULE(name) static int name(PyObject *g, PyObject **saved, Edges wanted, Results *results)
#define UNUSED_SAVED (void)saved
#define UNUSED_WANTED (void)wanted
#define WANTS(index) (wanted >> (index)&1)

static inline int
give(Results *results, int index, PyObject *part)
{
    results->parts[index] = part;
    return part == NULL ? -1 : 1;
}

static inline PyObject *
call_two(PyObject *function, PyObject *first, PyObject *second)
{
    PyObject *arguments[2] = {first, second};
    return PyObject_Vectorcall(function, arguments, 2, NULL);
}

/* ---- numbers ------------------------------------------------------------------------------------------------ */

static inline int
is_one(PyObject *object)
{
    return object == objects.one;
}

/* A Python number as NumPy takes it beside an array; 0 if it is none, or an int that a double cannot hold. */
static inline int
as_number(PyObject *object, double *number)
{
    if (PyFloat_CheckExact(object)) {
        *number = PyFloat_AS_DOUBLE(object);
        return 1;
    }
    if (PyLong_CheckExact(object)) {
        int overflow;
        const long long integer = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow || integer > (1LL << 53) || integer < -(1LL << 53)) {
            return 0;
        }
        *number = (double)integer;
        return 1;
    }
    return 0;
}

/* ---- arrays ------------------------------------------------------------------------------------------------- */

#define LARGEST_NDIM 32

static inline int
is_float64(PyObject *array)
{
    return PyArray_DESCR(ARRAY(array)) == objects.F64;
}

/* A float32 or float64 array of NumPy's own class, anyhow in memory. */
static inline int
is_float(PyObject *object)
{
    return PyArray_CheckExact(object)
           && (PyArray_DESCR(ARRAY(object)) == objects.F32 || PyArray_DESCR(ARRAY(object)) == objects.F64);
}

/* An array of int64 that lies row by row. */
static inline int
is_index(PyObject *object)
{
    return PyArray_CheckExact(object) && PyArray_DESCR(ARRAY(object)) == objects.I64
           && PyArray_IS_C_CONTIGUOUS(ARRAY(object)) && PyArray_ISALIGNED(ARRAY(object));
}

/* A plain array that lies row by row. */
static inline int
is_by_rows(PyObject *object)
{
    return is_plain(object) && PyArray_IS_C_CONTIGUOUS(ARRAY(object));
}

/* Reads a tuple of sizes; the number of dimensions, or -1 if it is anything else. */
static inline int
read_shape(PyObject *tuple, npy_intp *shape)
{
    if (!PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) > LARGEST_NDIM) {
        return -1;
    }
    const int ndim = (int)PyTuple_GET_SIZE(tuple);
    for (int axis = 0; axis < ndim; axis++) {
        PyObject *size = PyTuple_GET_ITEM(tuple, axis);
        shape[axis] = PyLong_CheckExact(size) ? PyLong_AsSsize_t(size) : -1;
        if (shape[axis] < 0) {
            PyErr_Clear();
            return -1;
        }
    }
    return ndim;
}

/* Reads a dimension, counted from the end if negative; -1 if it is no int or out of range. */
static inline int
read_dim(PyObject *object, int ndim)
{
    if (!PyLong_CheckExact(object)) {
        return -1;
    }
    const long dim = PyLong_AsLong(object);
    if (dim < -ndim || dim >= ndim) {
        PyErr_Clear();
        return -1;
    }
    return (int)(dim < 0 ? dim + ndim : dim);
}

static inline PyObject *
new_array(int ndim, const npy_intp *shape, PyArray_Descr *dtype)
{
    Py_INCREF(dtype); /* the call below takes this reference */
    return PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL, NULL, 0, NULL);
}

/* The same for zeros. */
static inline PyObject *
new_zeros(int ndim, const npy_intp *shape, PyArray_Descr *dtype)
{
    Py_INCREF(dtype); /* the call below takes this reference */
    return PyArray_Zeros(ndim, shape, dtype, 0);
}

/* A view of an array's memory. */
static inline PyObject *
new_view(PyObject *array, int ndim, const npy_intp *shape, const npy_intp *strides, char *data, int writeable)
{
    PyArray_Descr *dtype = PyArray_DESCR(ARRAY(array));
    Py_INCREF(dtype); /* the call below takes this reference */
    const int flags = writeable ? PyArray_FLAGS(ARRAY(array)) & NPY_ARRAY_WRITEABLE : 0;
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, strides, data, flags, NULL);
    if (view != NULL && PyArray_SetBaseObject(ARRAY(view), Py_NewRef(array)) < 0) {
        Py_CLEAR(view);
    }
    return view;
}

/* A view of one index of a dimension, without that dimension. */
static inline PyObject *
selected(PyObject *array, int dim, npy_intp index)
{
    const int ndim = PyArray_NDIM(ARRAY(array));
    npy_intp shape[LARGEST_NDIM], strides[LARGEST_NDIM];
    for (int axis = 0, place = 0; axis < ndim; axis++) {
        if (axis != dim) {
            shape[place] = PyArray_DIM(ARRAY(array), axis);
            strides[place++] = PyArray_STRIDE(ARRAY(array), axis);
        }
    }
    char *data = PyArray_BYTES(ARRAY(array)) + index * PyArray_STRIDE(ARRAY(array), dim);
    return new_view(array, ndim - 1, shape, strides, data, 1);
}

#endif
