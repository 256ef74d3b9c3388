/* `x[index]` for numbers, slices, None and Ellipsis, alone or in a tuple, and for one tensor: the steps that
 * `ops.indexing.brackets` takes. What it would refuse, or read in another manner, is declined.
 */
#include "shortcut.h"

enum { SELECT, SLICE, UNSQUEEZE, INDEX, FIRST, GIVEN_COUNT }; /* the ops that the function is given; FIRST is (0,) */

typedef struct {
    int op, dim;
    PyObject *number; /* of SELECT, borrowed */
    Py_ssize_t start, stop, step;
} Step;

#define MOST_STEPS (2 * NPY_MAXDIMS)

typedef struct {
    int count;
    Step steps[MOST_STEPS];
} Steps;

/* ---- reading an index --------------------------------------------------------------------------------------- */

static int
is_none_or_int(PyObject *object)
{
    return object == Py_None || PyLong_CheckExact(object);
}

/* A slice leaves a dimension as it is: then it is no step. */
static int
takes_all(const PySliceObject *slice, Py_ssize_t stop, Py_ssize_t size)
{
    return (slice->start == Py_None || slice->start == objects.zero) && (slice->stop == Py_None || stop >= size)
           && (slice->step == Py_None || slice->step == objects.one);
}

/* Reads one slice of a dimension of some size, which becomes that of the part; 0 if it is Python's. */
static int
read_slice(PyObject *item, int dim, npy_intp *size, int alone, Steps *steps)
{
    const PySliceObject *slice = (PySliceObject *)item;
    Py_ssize_t start, stop, step;
    if (!is_none_or_int(slice->start) || !is_none_or_int(slice->stop) || !is_none_or_int(slice->step)) {
        return 0;
    }
    if (PySlice_Unpack(item, &start, &stop, &step) < 0) {
        PyErr_Clear();
        return 0;
    }
    if (step <= 0) {
        return 0;
    }
    if (!alone && takes_all(slice, stop, *size)) {
        return 1;
    }
    const Py_ssize_t length = PySlice_AdjustIndices(*size, &start, &stop, step);
    steps->steps[steps->count++] = (Step){SLICE, dim, NULL, start, stop > start ? stop : start, step};
    *size = length;
    return 1;
}

/* Reads a number that takes one place of a dimension; 0 if it is out of range. */
static int
read_number(PyObject *item, int dim, npy_intp size, Steps *steps)
{
    int overflow;
    const long long number = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow || number < -size || number >= size) {
        return 0;
    }
    steps->steps[steps->count++] = (Step){SELECT, dim, item, 0, 0, 0};
    return 1;
}

/* How many dimensions the items of a tuple name; -1 if one of them is Python's. */
static int
dimensions_named(PyObject *items)
{
    int named = 0, dots = 0;
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(items); index++) {
        PyObject *item = PyTuple_GET_ITEM(items, index);
        if (PyLong_CheckExact(item) || PySlice_Check(item)) {
            named++;
        }
        else if (item == Py_Ellipsis) {
            dots++;
        }
        else if (item != Py_None) {
            return -1;
        }
    }
    return dots > 1 ? -1 : named;
}

static int
read_items(PyArrayObject *array, PyObject *items, Steps *steps)
{
    const int ndim = PyArray_NDIM(array), named = dimensions_named(items);
    if (named < 0 || named > ndim || PyTuple_GET_SIZE(items) > NPY_MAXDIMS) {
        return 0;
    }
    int dim = 0, source = 0; /* of the result so far, and of the array */
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(items); index++) {
        PyObject *item = PyTuple_GET_ITEM(items, index);
        if (item == Py_Ellipsis) {
            dim += ndim - named;
            source += ndim - named;
        }
        else if (item == Py_None) {
            steps->steps[steps->count++] = (Step){UNSQUEEZE, dim++, NULL, 0, 0, 0};
        }
        else if (PyLong_CheckExact(item)) {
            if (!read_number(item, dim, PyArray_DIM(array, source++), steps)) {
                return 0;
            }
        }
        else {
            npy_intp size = PyArray_DIM(array, source++);
            if (!read_slice(item, dim++, &size, 0, steps)) {
                return 0;
            }
        }
    }
    return 1;
}

static int
read_index(PyArrayObject *array, PyObject *index, Steps *steps)
{
    if (PyTuple_CheckExact(index)) {
        return read_items(array, index, steps);
    }
    if (index == Py_None) {
        steps->steps[steps->count++] = (Step){UNSQUEEZE, 0, NULL, 0, 0, 0};
        return 1;
    }
    if (PyArray_NDIM(array) == 0) {
        return 0;
    }
    npy_intp size = PyArray_DIM(array, 0);
    return PyLong_CheckExact(index) ? read_number(index, 0, size, steps)
                                    : PySlice_Check(index) && read_slice(index, 0, &size, 1, steps);
}

/* ---- taking the steps --------------------------------------------------------------------------------------- */

static PyObject *
take_step(Shortcut *self, PyObject *tensor, const Step *step)
{
    PyObject *arguments[5] = {tensor, PyLong_FromLong(step->dim), NULL, NULL, NULL}, *result = NULL;
    Py_ssize_t count = 2;
    if (step->op == SELECT) {
        arguments[count++] = Py_NewRef(step->number);
    }
    else if (step->op == SLICE) {
        arguments[count++] = PyLong_FromSsize_t(step->start);
        arguments[count++] = PyLong_FromSsize_t(step->stop);
        arguments[count++] = PyLong_FromSsize_t(step->step);
    }
    int made = 1;
    for (Py_ssize_t place = 1; place < count; place++) {
        made &= arguments[place] != NULL;
    }
    if (made) {
        result = PyObject_Vectorcall(PyTuple_GET_ITEM(self->given, step->op), arguments, (size_t)count, NULL);
    }
    for (Py_ssize_t place = 1; place < count; place++) {
        Py_XDECREF(arguments[place]);
    }
    return result;
}

static PyObject *
array_in(PyObject *tensor)
{
    PyObject *array = is_tensor(tensor) ? SLOT(tensor, in_tensor.array) : NULL;
    return array != NULL && PyArray_CheckExact(array) ? array : NULL;
}

/* x[tensor] of places, or of truth values. */
static PyObject *
take_tensor(Shortcut *self, PyObject *tensor, PyObject *index, PyArrayObject *array)
{
    PyObject *places = Py_TYPE(index) == objects.Tensor ? array_in(index) : NULL;
    const int ndim = places == NULL ? 0 : PyArray_NDIM(ARRAY(places));
    if (ndim == 0 || PyArray_NDIM(array) == 0
        || !(PyArray_DESCR(ARRAY(places)) == objects.I64
             || (PyArray_DESCR(ARRAY(places)) == objects.B8 && ndim <= PyArray_NDIM(array)))) {
        return NULL;
    }
    PyObject *const arguments[3] = {tensor, PyTuple_GET_ITEM(self->given, FIRST), index};
    return PyObject_Vectorcall(PyTuple_GET_ITEM(self->given, INDEX), arguments, 3, NULL);
}

/* getitem(self, index), given select, slice, unsqueeze, index and (0,) */
static PyObject *
getitem_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *array = count == 2 && names == NULL ? array_in(arguments[0]) : NULL;
    if (array == NULL || is_unusual()) {
        return NULL;
    }
    if (is_tensor(arguments[1])) {
        return take_tensor(self, arguments[0], arguments[1], ARRAY(array));
    }
    Steps steps;
    steps.count = 0;
    if (!read_index(ARRAY(array), arguments[1], &steps) || steps.count == 0) {
        return NULL;
    }
    PyObject *result = Py_NewRef(arguments[0]);
    for (int index = 0; result != NULL && index < steps.count; index++) {
        Py_SETREF(result, take_step(self, result, &steps.steps[index]));
    }
    return result;
}

SHORTCUT_METHOD(getitem, GIVEN_COUNT)

static PyMethodDef methods[] = {
    {"getitem", (PyCFunction)(void (*)(void))core_getitem, METH_FASTCALL,
     "getitem(function, select, slice, unsqueeze, index, first): x[index] for common indices."},
    {NULL, NULL, 0, NULL},
};

const Part brackets_part = {.methods = methods};
