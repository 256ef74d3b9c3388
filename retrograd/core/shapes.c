/* Methods that take sizes or dimensions in several forms, `x.view(2, 3)` and `x.view((2, 3))`: the common ones are read
 * here and handed to the op. Sizes that do not fit, and tensors that would have to be copied, are Python's.
 */
#include "shortcut.h"

#define GIVEN(place) PyTuple_GET_ITEM(self->given, place)

typedef struct {
    int count;
    npy_intp numbers[NPY_MAXDIMS];
} Numbers;

static PyArrayObject *
array_of(PyObject *object)
{
    PyObject *array = is_tensor(object) ? SLOT(object, in_tensor.array) : NULL;
    return array != NULL && PyArray_CheckExact(array) ? ARRAY(array) : NULL;
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

/* The ints that a method was given by place, or in one tuple or list. */
static int
read_numbers(PyObject *const *given, Py_ssize_t count, Numbers *found)
{
    if (count == 1 && (PyTuple_Check(given[0]) || PyList_CheckExact(given[0]))) {
        count = PySequence_Fast_GET_SIZE(given[0]);
        given = PySequence_Fast_ITEMS(given[0]);
    }
    else if (count == 0) {
        return 0;
    }
    if (count > NPY_MAXDIMS) {
        return 0;
    }
    found->count = (int)count;
    for (Py_ssize_t index = 0; index < count; index++) {
        if (!read_int(given[index], &found->numbers[index])) {
            return 0;
        }
    }
    return 1;
}

static PyObject *
call_with(PyObject *op, PyObject *tensor, const Numbers *numbers)
{
    PyObject *tuple = int_tuple(numbers->count, numbers->numbers);
    PyObject *const arguments[2] = {tensor, tuple};
    PyObject *result = tuple == NULL ? NULL : PyObject_Vectorcall(op, arguments, 2, NULL);
    Py_XDECREF(tuple);
    return result;
}

/* ---- another shape ------------------------------------------------------------------------------------------ */

/* Puts what is left of a size in the place of -1; 0 if the sizes do not fit. */
static int
complete(Numbers *sizes, npy_intp size)
{
    npy_intp known = 1;
    int unknown = -1;
    for (int index = 0; index < sizes->count; index++) {
        const npy_intp number = sizes->numbers[index];
        if (number == -1 && unknown < 0) {
            unknown = index;
        }
        else if (number < 1 || number > size / known) {
            return 0;
        }
        else {
            known *= number;
        }
    }
    if (unknown >= 0) {
        sizes->numbers[unknown] = size / known;
    }
    return unknown >= 0 ? size % known == 0 : known == size;
}

/* view(self, *size), reshape(self, *shape), given view */
static PyObject *
sized_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    Numbers sizes;
    PyArrayObject *array = count > 1 && names == NULL ? array_of(arguments[0]) : NULL;
    if (array == NULL || is_unusual() || !PyArray_IS_C_CONTIGUOUS(array) || PyArray_SIZE(array) == 0
        || !read_numbers(arguments + 1, count - 1, &sizes) || !complete(&sizes, PyArray_SIZE(array))) {
        return NULL;
    }
    return call_with(GIVEN(0), arguments[0], &sizes);
}

static int
read_dim(PyObject *object, int ndim, npy_intp *dim)
{
    if (!read_int(object, dim) || *dim < -ndim || *dim >= ndim) {
        return 0;
    }
    *dim += *dim < 0 ? ndim : 0;
    return 1;
}

/* flatten(input, start_dim), given view */
static PyObject *
flatten_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    npy_intp first = 0;
    PyArrayObject *array = (count == 1 || count == 2) && names == NULL ? array_of(arguments[0]) : NULL;
    if (array == NULL || is_unusual() || !PyArray_IS_C_CONTIGUOUS(array)
        || (count == 2 && !read_dim(arguments[1], PyArray_NDIM(array), &first)) || first >= PyArray_NDIM(array) - 1) {
        return NULL;
    }
    Numbers sizes = {.count = (int)first + 1};
    memcpy(sizes.numbers, PyArray_DIMS(array), (size_t)first * sizeof *sizes.numbers);
    sizes.numbers[first] = PyArray_MultiplyList(PyArray_DIMS(array) + first, PyArray_NDIM(array) - (int)first);
    return call_with(GIVEN(0), arguments[0], &sizes);
}

/* ---- another order, more places ----------------------------------------------------------------------------- */

/* permute(self, *dims), given permute */
static PyObject *
permute_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    Numbers dims;
    PyArrayObject *array = count > 1 && names == NULL ? array_of(arguments[0]) : NULL;
    if (array == NULL || is_unusual() || !read_numbers(arguments + 1, count - 1, &dims)
        || dims.count != PyArray_NDIM(array)) {
        return NULL;
    }
    unsigned long long seen = 0;
    for (int index = 0; index < dims.count; index++) {
        npy_intp dim = dims.numbers[index];
        if (dim < -dims.count || dim >= dims.count) {
            return NULL;
        }
        dim += dim < 0 ? dims.count : 0;
        if (seen >> dim & 1) {
            return NULL;
        }
        seen |= 1ULL << dim;
        dims.numbers[index] = dim;
    }
    return call_with(GIVEN(0), arguments[0], &dims);
}

/* expand(self, *size), given expand */
static PyObject *
expand_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    Numbers sizes;
    PyArrayObject *array = count > 1 && names == NULL ? array_of(arguments[0]) : NULL;
    if (array == NULL || is_unusual() || !read_numbers(arguments + 1, count - 1, &sizes)) {
        return NULL;
    }
    const int lead = sizes.count - PyArray_NDIM(array);
    if (lead < 0) {
        return NULL;
    }
    for (int index = 0; index < sizes.count; index++) {
        npy_intp *size = &sizes.numbers[index];
        const npy_intp own = index < lead ? 1 : PyArray_DIM(array, index - lead);
        if (*size == -1 && index >= lead) {
            *size = own;
        }
        if (*size < 0 || (*size != own && own != 1)) {
            return NULL;
        }
    }
    return call_with(GIVEN(0), arguments[0], &sizes);
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

SHORTCUT_METHOD(sized, 1)
SHORTCUT_METHOD(flatten, 1)
SHORTCUT_METHOD(permute, 1)
SHORTCUT_METHOD(expand, 1)

#define ENTRY(name, text) {#name, (PyCFunction)(void (*)(void))core_##name, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    ENTRY(sized, "sized(function, view): x.view(...) and x.reshape(...) of a tensor in C order."),
    ENTRY(flatten, "flatten(function, view): the last dimensions of a tensor in C order as one."),
    ENTRY(permute, "permute(function, permute): x.permute(...)."),
    ENTRY(expand, "expand(function, expand): x.expand(...)."),
    {NULL, NULL, 0, NULL},
};

const Part shapes_part = {.methods = methods};
