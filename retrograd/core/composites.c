/* Shortcuts of functions that are made of ops: which op the common call is, or which two.
 *
 * A way declines whatever the function treats in another manner: rare modes (autocast is one), other classes,
 * other shapes, indices out of range. Errors are thus the function's own.
 */
#include "shortcut.h"

#define GIVEN(place) PyTuple_GET_ITEM(self->given, place)

/* The array of a tensor of the library's own classes; NULL if it is anything else. */
static PyArrayObject *
array_of(PyObject *object)
{
    PyObject *array = is_tensor(object) ? SLOT(object, in_tensor.array) : NULL;
    return array != NULL && PyArray_CheckExact(array) ? ARRAY(array) : NULL;
}

static PyObject *
call_three(PyObject *function, PyObject *first, PyObject *second, PyObject *third)
{
    PyObject *const arguments[3] = {first, second, third};
    return PyObject_Vectorcall(function, arguments, 3, NULL);
}

/* ---- x[index] ----------------------------------------------------------------------------------------------- */

/* x[start:stop:step] is slice(x, 0, start, stop, step) with bounds inside of the dimension. */
static PyObject *
take_slice(PyObject *slice_op, PyObject *tensor, PyObject *index, npy_intp size)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(index, &start, &stop, &step) < 0) {
        PyErr_Clear();
        return NULL;
    }
    if (step <= 0) {
        return NULL;
    }
    PySlice_AdjustIndices(size, &start, &stop, step);
    PyObject *arguments[5] = {tensor, objects.zero, PyLong_FromSsize_t(start),
                              PyLong_FromSsize_t(stop > start ? stop : start), PyLong_FromSsize_t(step)};
    PyObject *result = NULL;
    if (arguments[2] != NULL && arguments[3] != NULL && arguments[4] != NULL) {
        result = PyObject_Vectorcall(slice_op, arguments, 5, NULL);
    }
    for (int place = 2; place < 5; place++) {
        Py_XDECREF(arguments[place]);
    }
    return result;
}

/* getitem(self, index), given select and slice */
static PyObject *
getitem_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyArrayObject *array = count == 2 && names == NULL ? array_of(arguments[0]) : NULL;
    if (array == NULL || PyArray_NDIM(array) == 0 || is_unusual()) {
        return NULL;
    }
    PyObject *index = arguments[1];
    const npy_intp size = PyArray_DIM(array, 0);
    if (PyLong_CheckExact(index)) {
        int overflow;
        const long long number = PyLong_AsLongLongAndOverflow(index, &overflow);
        return overflow || number < -size || number >= size ? NULL
                                                            : call_three(GIVEN(0), arguments[0], objects.zero, index);
    }
    return PySlice_Check(index) ? take_slice(GIVEN(1), arguments[0], index, size) : NULL;
}

/* ---- products ----------------------------------------------------------------------------------------------- */

/* a @ b, given mm */
static PyObject *
matmul_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count != 2 || names != NULL || is_unusual()) {
        return NULL;
    }
    PyArrayObject *left = array_of(arguments[0]), *right = array_of(arguments[1]);
    if (left == NULL || right == NULL || PyArray_NDIM(left) != 2 || PyArray_NDIM(right) != 2
        || PyArray_DIM(left, 1) != PyArray_DIM(right, 0)) {
        return NULL;
    }
    return PyObject_Vectorcall(GIVEN(0), arguments, 2, NULL);
}

/* A tensor in another shape of one or two dimensions. */
static PyObject *
view_as(PyObject *view_op, PyObject *tensor, int ndim, const npy_intp *shape)
{
    PyObject *size = int_tuple(ndim, shape);
    PyObject *const arguments[2] = {tensor, size};
    PyObject *view = size == NULL ? NULL : PyObject_Vectorcall(view_op, arguments, 2, NULL);
    Py_XDECREF(size);
    return view;
}

enum { LINEAR_T, LINEAR_ADDMM, LINEAR_VIEW };

/* addmm(bias, input, weight.T); of an input that is no matrix, as rows of one. */
static PyObject *
linear_of_rows(Shortcut *self, PyObject *const *arguments, PyObject *transposed, PyArrayObject *input)
{
    const int last = PyArray_NDIM(input) - 1;
    if (last == 1) {
        return call_three(GIVEN(LINEAR_ADDMM), arguments[2], arguments[0], transposed);
    }
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(input), last * sizeof *shape);
    shape[last] = PyArray_DIM(array_of(transposed), 1);
    const npy_intp rows[2] = {PyArray_MultiplyList(shape, last), PyArray_DIM(input, last)};
    PyObject *matrix = view_as(GIVEN(LINEAR_VIEW), arguments[0], 2, rows);
    PyObject *flat = matrix == NULL ? NULL : call_three(GIVEN(LINEAR_ADDMM), arguments[2], matrix, transposed);
    PyObject *result = flat == NULL ? NULL : view_as(GIVEN(LINEAR_VIEW), flat, last + 1, shape);
    Py_XDECREF(matrix);
    Py_XDECREF(flat);
    return result;
}

/* linear(input, weight, bias), given t, addmm and view */
static PyObject *
linear_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count != 3 || names != NULL || is_unusual()) {
        return NULL;
    }
    PyArrayObject *input = array_of(arguments[0]), *weight = array_of(arguments[1]), *bias = array_of(arguments[2]);
    const int last = input == NULL ? -1 : PyArray_NDIM(input) - 1;
    if (last < 0 || weight == NULL || bias == NULL || (last != 1 && !PyArray_IS_C_CONTIGUOUS(input))
        || PyArray_NDIM(weight) != 2 || PyArray_NDIM(bias) != 1 || PyArray_DIM(input, last) != PyArray_DIM(weight, 1)
        || PyArray_DIM(bias, 0) != PyArray_DIM(weight, 0)) {
        return NULL;
    }
    PyObject *transposed = PyObject_CallOneArg(GIVEN(LINEAR_T), arguments[1]);
    if (transposed == NULL) {
        return NULL;
    }
    PyObject *result = array_of(transposed) == NULL ? NULL : linear_of_rows(self, arguments, transposed, input);
    Py_DECREF(transposed);
    return result;
}

/* ---- reductions --------------------------------------------------------------------------------------------- */

/* x.sum() and the like without any option, given the op that does it */
static PyObject *
whole_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count != 1 || names != NULL || array_of(arguments[0]) == NULL || is_unusual()) {
        return NULL;
    }
    return PyObject_CallOneArg(GIVEN(0), arguments[0]);
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

SHORTCUT_METHOD(getitem, 2)
SHORTCUT_METHOD(matmul, 1)
SHORTCUT_METHOD(linear, 3)
SHORTCUT_METHOD(whole, 1)

#define ENTRY(name, text) {#name, (PyCFunction)(void (*)(void))core_##name, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    ENTRY(getitem, "getitem(function, select, slice): x[index] for a number or a slice."),
    ENTRY(matmul, "matmul(function, mm): the product of two matrices."),
    ENTRY(linear, "linear(function, t, addmm, view): of rows, a weight and a bias."),
    ENTRY(whole, "whole(function, op): a reduction of all elements."),
    {NULL, NULL, 0, NULL},
};

const Part composites_part = {.methods = methods};
