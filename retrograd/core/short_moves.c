/* Kernels that move elements: transposed, permuted and expanded views, cat and stack, rows by their numbers.
 *
 * As in short_kernels.c: what the Python kernel of the same name gives; NULL without an error set where a call is no
 * case for it.
 */
#include "caller.h"
#include "engine.h"

static PyObject *
empty_array(PyArray_Descr *dtype, int ndim, const npy_intp *shape)
{
    Py_INCREF(dtype); /* the call below takes this reference */
    return PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL, NULL, 0, NULL);
}

static int
read_int(PyObject *object, npy_intp *number)
{
    int overflow;
    if (!PyLong_CheckExact(object)) {
        return 0;
    }
    *number = (npy_intp)PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

/* A dimension counted from either end of so many. */
static int
read_dim(PyObject *object, int ndim, int *dim)
{
    npy_intp number;
    if (!read_int(object, &number) || number < -ndim || number >= ndim) {
        return 0;
    }
    *dim = (int)(number < 0 ? number + ndim : number);
    return 1;
}

/* ---- views -------------------------------------------------------------------------------------------------- */

/* transpose(input, dim0, dim1) */
PyObject *
short_transpose(const Call *call)
{
    PyArrayObject *array = ARRAY(call->arrays[0]);
    const int ndim = PyArray_NDIM(array);
    int first, second;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    if (!read_dim(call->values[1], ndim, &first) || !read_dim(call->values[2], ndim, &second)) {
        return NULL;
    }
    copy_numbers(shape, PyArray_DIMS(array), (size_t)ndim);
    copy_numbers(strides, PyArray_STRIDES(array), (size_t)ndim);
    shape[first] = PyArray_DIM(array, second);
    shape[second] = PyArray_DIM(array, first);
    strides[first] = PyArray_STRIDE(array, second);
    strides[second] = PyArray_STRIDE(array, first);
    return view_from(array, PyArray_BYTES(array), ndim, shape, strides);
}

/* permute(input, dims): none negative, none twice */
PyObject *
short_permute(const Call *call)
{
    PyArrayObject *array = ARRAY(call->arrays[0]);
    PyObject *dims = call->values[1];
    const int ndim = PyArray_NDIM(array);
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    unsigned long long seen = 0;
    if (!PyTuple_CheckExact(dims) || PyTuple_GET_SIZE(dims) != ndim) {
        return NULL;
    }
    for (int index = 0; index < ndim; index++) {
        npy_intp dim;
        if (!read_int(PyTuple_GET_ITEM(dims, index), &dim) || dim < 0 || dim >= ndim || (seen >> dim & 1)) {
            return NULL;
        }
        seen |= 1ULL << dim;
        shape[index] = PyArray_DIM(array, dim);
        strides[index] = PyArray_STRIDE(array, dim);
    }
    return view_from(array, PyArray_BYTES(array), ndim, shape, strides);
}

/* expand(input, size): complete; one element in many places must not be written */
PyObject *
short_expand(const Call *call)
{
    PyArrayObject *array = ARRAY(call->arrays[0]);
    PyObject *size = call->values[1];
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    if (!PyTuple_CheckExact(size) || PyTuple_GET_SIZE(size) > NPY_MAXDIMS || PyArray_SIZE(array) == 0) {
        return NULL;
    }
    const int ndim = (int)PyTuple_GET_SIZE(size), lead = ndim - PyArray_NDIM(array);
    int shared = 0;
    for (int index = ndim - 1; index >= 0; index--) {
        const npy_intp own = index < lead ? 1 : PyArray_DIM(array, index - lead);
        if (!read_int(PyTuple_GET_ITEM(size, index), &shape[index]) || shape[index] < 1
            || (own != 1 && own != shape[index])) {
            return NULL;
        }
        strides[index] = index >= lead       ? PyArray_STRIDE(array, index - lead)
                         : index == ndim - 1 ? 0 /* of a number */
                                             : shape[index + 1] * strides[index + 1];
        if (own != shape[index]) {
            strides[index] = 0;
        }
        shared |= strides[index] == 0;
    }
    PyObject *view = lead < 0 ? NULL : view_from(array, PyArray_BYTES(array), ndim, shape, strides);
    if (view != NULL && shared) {
        PyArray_CLEARFLAGS(ARRAY(view), NPY_ARRAY_WRITEABLE);
    }
    return view;
}

/* ---- joining ------------------------------------------------------------------------------------------------ */

/* Arrays in C order of one rank, whose shapes agree but for one dimension. */
static int
are_joinable(PyObject *arrays, int ndim, int place)
{
    PyArrayObject *first = ARRAY(PyList_GET_ITEM(arrays, 0));
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(arrays); index++) {
        PyArrayObject *array = ARRAY(PyList_GET_ITEM(arrays, index));
        if (PyArray_NDIM(array) != ndim || !PyArray_IS_C_CONTIGUOUS(array)) {
            return 0;
        }
        for (int dim = 0; dim < ndim; dim++) {
            if (dim != place && PyArray_DIM(array, dim) != PyArray_DIM(first, dim)) {
                return 0;
            }
        }
        if (PyArray_SIZE(array) == 0) {
            return 0; /* one without any dimension but an empty one is left out */
        }
    }
    return 1;
}

/* Writes the parts of the arrays, each `inner` bytes for every step of the dimension, one after the other. */
static void
copy_parts(PyObject *arrays, PyObject *result, npy_intp outer)
{
    char *to = PyArray_BYTES(ARRAY(result));
    for (npy_intp turn = 0; turn < outer; turn++) {
        for (Py_ssize_t index = 0; index < PyList_GET_SIZE(arrays); index++) {
            PyArrayObject *array = ARRAY(PyList_GET_ITEM(arrays, index));
            const npy_intp bytes = PyArray_NBYTES(array) / outer;
            memcpy(to, PyArray_BYTES(array) + turn * bytes, (size_t)bytes);
            to += bytes;
        }
    }
}

/* cat(tensors, dim) */
PyObject *
short_cat(const Call *call)
{
    PyObject *arrays = call->arrays[0];
    PyArrayObject *first = ARRAY(PyList_GET_ITEM(arrays, 0));
    const int ndim = PyArray_NDIM(first);
    int place;
    npy_intp shape[NPY_MAXDIMS];
    /* with four dimensions images may have their channels last */
    if (ndim > 3 || !read_dim(call->values[1], ndim, &place) || !are_joinable(arrays, ndim, place)) {
        return NULL;
    }
    copy_numbers(shape, PyArray_DIMS(first), (size_t)ndim);
    for (Py_ssize_t index = 1; index < PyList_GET_SIZE(arrays); index++) {
        shape[place] += PyArray_DIM(ARRAY(PyList_GET_ITEM(arrays, index)), place);
    }
    PyObject *result = empty_array(call->dtype, ndim, shape);
    if (result != NULL) {
        copy_parts(arrays, result, PyArray_MultiplyList(shape, place));
    }
    return result;
}

/* stack(tensors, dim) */
PyObject *
short_stack(const Call *call)
{
    PyObject *arrays = call->arrays[0];
    PyArrayObject *first = ARRAY(PyList_GET_ITEM(arrays, 0));
    const int ndim = PyArray_NDIM(first);
    int place;
    npy_intp shape[NPY_MAXDIMS];
    if (ndim == NPY_MAXDIMS || !read_dim(call->values[1], ndim + 1, &place) || !are_joinable(arrays, ndim, -1)) {
        return NULL;
    }
    copy_numbers(shape, PyArray_DIMS(first), (size_t)place);
    shape[place] = PyList_GET_SIZE(arrays);
    copy_numbers(shape + place + 1, PyArray_DIMS(first) + place, (size_t)(ndim - place));
    PyObject *result = empty_array(call->dtype, ndim + 1, shape);
    if (result != NULL) {
        copy_parts(arrays, result, PyArray_MultiplyList(shape, place));
    }
    return result;
}

/* ---- rows by their numbers ---------------------------------------------------------------------------------- */

/* table[rows] for numbers from either end, or only from the start; NULL without an error set where one is outside. */
static PyObject *
rows_of(PyArrayObject *table, PyObject *rows, int from_either_end)
{
    npy_intp shape[NPY_MAXDIMS];
    if (PyArray_NDIM(table) == 0 || !PyArray_IS_C_CONTIGUOUS(table) || PyArray_SIZE(table) == 0
        || !PyArray_CheckExact(rows)) {
        return NULL;
    }
    PyArrayObject *index = ARRAY(rows);
    const int more = PyArray_NDIM(table) - 1;
    if (PyArray_DESCR(index) != objects.I64 || !PyArray_IS_C_CONTIGUOUS(index) || !PyArray_ISALIGNED(index)
        || PyArray_NDIM(index) + more > NPY_MAXDIMS) {
        return NULL;
    }
    const npy_int64 *numbers = PyArray_DATA(index);
    const npy_intp count = PyArray_SIZE(index), length = PyArray_DIM(table, 0), bytes = PyArray_NBYTES(table) / length;
    for (npy_intp i = 0; i < count; i++) {
        if (numbers[i] >= length || numbers[i] < (from_either_end ? -length : 0)) {
            return NULL;
        }
    }
    copy_numbers(shape, PyArray_DIMS(index), (size_t)PyArray_NDIM(index));
    copy_numbers(shape + PyArray_NDIM(index), PyArray_DIMS(table) + 1, (size_t)more);
    PyObject *found = empty_array(PyArray_DESCR(table), PyArray_NDIM(index) + more, shape);
    if (found != NULL) {
        char *to = PyArray_BYTES(ARRAY(found));
        for (npy_intp i = 0; i < count; i++, to += bytes) {
            const npy_intp row = numbers[i] < 0 ? numbers[i] + length : numbers[i];
            memcpy(to, PyArray_BYTES(table) + row * bytes, (size_t)bytes);
        }
    }
    return found;
}

/* index(input, dims, first, second, third, fourth): rows */
PyObject *
short_index(const Call *call)
{
    PyObject *dims = call->values[1];
    if (!PyTuple_CheckExact(dims) || PyTuple_GET_SIZE(dims) != 1 || PyTuple_GET_ITEM(dims, 0) != objects.zero
        || call->arrays[2] != Py_None) {
        return NULL;
    }
    return rows_of(ARRAY(call->arrays[0]), call->arrays[1], 1);
}

/* index_select(input, dim, index): rows */
PyObject *
short_index_select(const Call *call)
{
    if (call->values[1] != objects.zero || !PyArray_CheckExact(call->arrays[1])
        || PyArray_NDIM(ARRAY(call->arrays[1])) != 1) {
        return NULL;
    }
    return rows_of(ARRAY(call->arrays[0]), call->arrays[1], 0);
}

/* embedding(weight, indices, ...) */
PyObject *
short_embedding(const Call *call)
{
    return PyArray_NDIM(ARRAY(call->arrays[0])) == 2 ? rows_of(ARRAY(call->arrays[0]), call->arrays[1], 0) : NULL;
}
