/* Shortcuts of functions that are made of ops: which op the common call is, or which two.
 *
 * A way declines whatever the function treats in another manner: rare modes (autocast is one), other classes,
 * other shapes, indices out of range. Errors are thus the function's own.
 */
#include "shortcut.h"

#define GIVEN(place) PyTuple_GET_ITEM(self->given, place)

static PyObject *name_dim, *name_keepdim, *name_min, *name_max;

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
    copy_numbers(shape, PyArray_DIMS(input), (size_t)last);
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

/* Whether dimensions are an int, or a tuple of them. */
static int
are_dims(PyObject *dims)
{
    if (!PyTuple_CheckExact(dims)) {
        return PyLong_CheckExact(dims);
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(dims); index++) {
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(dims, index))) {
            return 0;
        }
    }
    return 1;
}

/* sum(input, dim, keepdim) and the like, given the op for all elements and the one for dimensions */
static PyObject *
reduction_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count < 1 || count > 3 || array_of(arguments[0]) == NULL || is_unusual()) {
        return NULL;
    }
    PyObject *given[3] = {arguments[0], count > 1 ? arguments[1] : NULL, count > 2 ? arguments[2] : NULL};
    const Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t index = 0; index < named; index++) {
        PyObject *name = PyTuple_GET_ITEM(names, index);
        const int place = name == name_dim ? 1 : name == name_keepdim ? 2 : 0;
        if (place == 0 || given[place] != NULL) {
            return NULL;
        }
        given[place] = arguments[count + index];
    }
    if (given[1] == NULL && given[2] == NULL) {
        return PyObject_CallOneArg(GIVEN(0), arguments[0]);
    }
    if (given[1] == NULL || !are_dims(given[1]) || (given[2] != NULL && !PyBool_Check(given[2]))) {
        return NULL;
    }
    return call_three(GIVEN(1), given[0], given[1], given[2] == NULL ? Py_False : given[2]);
}

/* ---- elementwise -------------------------------------------------------------------------------------------- */

static int
is_number(PyObject *object)
{
    return PyFloat_CheckExact(object) || PyLong_CheckExact(object);
}

/* pow(input, number), given the op for numbers */
static PyObject *
power_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count != 2 || names != NULL || !is_number(arguments[1]) || array_of(arguments[0]) == NULL || is_unusual()) {
        return NULL;
    }
    return PyObject_Vectorcall(GIVEN(0), arguments, 2, NULL);
}

/* clamp(input, min, max) of numbers, given the op */
static PyObject *
clamp_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count < 1 || count > 3 || array_of(arguments[0]) == NULL || is_unusual()) {
        return NULL;
    }
    PyObject *limits[2] = {count > 1 ? arguments[1] : NULL, count > 2 ? arguments[2] : NULL};
    const Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t index = 0; index < named; index++) {
        PyObject *name = PyTuple_GET_ITEM(names, index);
        const int place = name == name_min ? 0 : name == name_max ? 1 : -1;
        if (place < 0 || limits[place] != NULL) {
            return NULL;
        }
        limits[place] = arguments[count + index];
    }
    int given = 0;
    for (int place = 0; place < 2; place++) {
        if (limits[place] == NULL) {
            limits[place] = Py_None;
        }
        else if (limits[place] != Py_None && !is_number(limits[place])) {
            return NULL;
        }
        given |= limits[place] != Py_None;
    }
    return given ? call_three(GIVEN(0), arguments[0], limits[0], limits[1]) : NULL;
}

static int
broadcast_together(PyArrayObject *first, PyArrayObject *second)
{
    const int least = PyArray_NDIM(first) < PyArray_NDIM(second) ? PyArray_NDIM(first) : PyArray_NDIM(second);
    for (int back = 1; back <= least; back++) {
        const npy_intp one = PyArray_DIM(first, PyArray_NDIM(first) - back);
        const npy_intp other = PyArray_DIM(second, PyArray_NDIM(second) - back);
        if (one != other && one != 1 && other != 1) {
            return 0;
        }
    }
    return 1;
}

/* where(condition, input, other), given the op, which takes the condition last; a mistake in the shapes is Python's
   to report, in the order of the arguments */
static PyObject *
where_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count != 3 || names != NULL || is_unusual()) {
        return NULL;
    }
    PyArrayObject *condition = array_of(arguments[0]);
    if (condition == NULL || PyArray_DESCR(condition) != objects.B8) {
        return NULL;
    }
    PyArrayObject *input = array_of(arguments[1]);
    if (input == NULL || !broadcast_together(condition, input)) {
        return NULL;
    }
    PyArrayObject *other = array_of(arguments[2]);
    if (other == NULL ? !is_number(arguments[2])
                      : !broadcast_together(condition, other) || !broadcast_together(input, other)) {
        return NULL;
    }
    return call_three(GIVEN(0), arguments[1], arguments[2], arguments[0]);
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

SHORTCUT_METHOD(matmul, 1)
SHORTCUT_METHOD(linear, 3)
SHORTCUT_METHOD(reduction, 2)
SHORTCUT_METHOD(power, 1)
SHORTCUT_METHOD(clamp, 1)
SHORTCUT_METHOD(where, 1)

#define ENTRY(name, text) {#name, (PyCFunction)(void (*)(void))core_##name, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    ENTRY(matmul, "matmul(function, mm): the product of two matrices."),
    ENTRY(linear, "linear(function, t, addmm, view): of rows, a weight and a bias."),
    ENTRY(power, "power(function, op): of a tensor and a number."),
    ENTRY(clamp, "clamp(function, op): between numbers."),
    ENTRY(where, "where(function, choose): elements of a tensor, or of another or a number."),
    ENTRY(reduction, "reduction(function, whole, along): of all elements, or along dimensions."),
    {NULL, NULL, 0, NULL},
};

static int
add(PyObject *Py_UNUSED(module))
{
    name_dim = PyUnicode_InternFromString("dim");
    name_keepdim = PyUnicode_InternFromString("keepdim");
    name_min = PyUnicode_InternFromString("min");
    name_max = PyUnicode_InternFromString("max");
    return name_dim == NULL || name_keepdim == NULL || name_min == NULL || name_max == NULL ? -1 : 0;
}

const Part composites_part = {.methods = methods, .add = add};
