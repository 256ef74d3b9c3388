/* Tensors from Python numbers: nested lists and tuples of floats, ints and bools as one array.
 *
 * `ops.making.construction` says what is right; None is given for whatever it treats in another manner, so that errors,
 * ragged lists and other kinds of elements are Python's.
 */
#define NO_IMPORT_ARRAY
#include "tiny.h"

typedef struct {
    int ndim;
    npy_intp shape[LARGEST_NDIM], size;
    int has_float, has_int, is_odd; /* what was found among the numbers; odd: not one of ours */
} Nest;

#define IS_LIST(object) (PyList_CheckExact(object) || PyTuple_CheckExact(object))

/* The shape along the first elements, as PyTorch takes it; 0 if there are too many dimensions, or none of it. */
static int
read_nest(PyObject *data, Nest *nest)
{
    *nest = (Nest){.size = 1};
    while (IS_LIST(data)) {
        const Py_ssize_t length = PySequence_Fast_GET_SIZE(data);
        if (length == 0 || nest->ndim == LARGEST_NDIM || nest->size > NPY_MAX_INT32 / length) {
            return 0;
        }
        nest->shape[nest->ndim++] = length;
        nest->size *= length;
        data = PySequence_Fast_GET_ITEM(data, 0);
    }
    return 1;
}

/* Notes the kind of a number. */
static void
note_kind(PyObject *number, Nest *nest)
{
    if (PyFloat_CheckExact(number)) {
        nest->has_float = 1;
    }
    else if (PyLong_CheckExact(number)) {
        nest->has_int = 1;
    }
    else if (!PyBool_Check(number)) {
        nest->is_odd = 1;
    }
}

/* Looks at everything: lists of the same length at each depth, numbers of our kinds at the last. */
static void
look(PyObject *data, int depth, Nest *nest)
{
    if (depth == nest->ndim) {
        note_kind(data, nest);
        return;
    }
    if (!IS_LIST(data) || PySequence_Fast_GET_SIZE(data) != nest->shape[depth]) {
        nest->is_odd = 1;
        return;
    }
    PyObject *const *items = PySequence_Fast_ITEMS(data);
    for (npy_intp index = 0; index < nest->shape[depth] && !nest->is_odd; index++) {
        look(items[index], depth + 1, nest);
    }
}

/* Writes the numbers one after the other; 0 if one does not fit. */
static int
put(PyObject *data, int depth, const Nest *nest, int type_number, char **out)
{
    if (depth < nest->ndim) {
        PyObject *const *items = PySequence_Fast_ITEMS(data);
        for (npy_intp index = 0; index < nest->shape[depth]; index++) {
            if (!put(items[index], depth + 1, nest, type_number, out)) {
                return 0;
            }
        }
        return 1;
    }
    if (type_number == NPY_INT64) {
        int overflow;
        *(npy_int64 *)*out = PyLong_AsLongLongAndOverflow(data, &overflow);
        *out += sizeof(npy_int64);
        return !overflow;
    }
    if (type_number == NPY_BOOL) {
        *(*out)++ = data == Py_True;
        return 1;
    }
    const double value = PyFloat_CheckExact(data) ? PyFloat_AS_DOUBLE(data) : PyLong_AsDouble(data);
    if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear(); /* an int that no float holds */
        return 0;
    }
    if (type_number == NPY_FLOAT32) {
        *(npy_float32 *)*out = (npy_float32)value;
        *out += sizeof(npy_float32);
    }
    else {
        *(npy_float64 *)*out = value;
        *out += sizeof(npy_float64);
    }
    return 1;
}

PyObject *
tiny_from_numbers(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    Nest nest;
    if (wrong_count("from_numbers", given, 3, 3)) {
        return NULL;
    }
    if (read_nest(arguments[0], &nest)) {
        look(arguments[0], 0, &nest);
    }
    else {
        nest.is_odd = 1;
    }
    if (nest.is_odd) {
        Py_RETURN_NONE;
    }
    /* the wanted dtype; without one bool < int64 < the default float */
    PyObject *wanted = arguments[1] != Py_None ? arguments[1] : nest.has_float ? arguments[2] : NULL;
    const int type_number = wanted == NULL              ? (nest.has_int ? NPY_INT64 : NPY_BOOL)
                            : PyArray_DescrCheck(wanted) ? ((PyArray_Descr *)wanted)->type_num
                                                        : NPY_NOTYPE;
    const int fits = type_number == NPY_FLOAT32 || type_number == NPY_FLOAT64
                     || (type_number == NPY_INT64 && !nest.has_float)
                     || (type_number == NPY_BOOL && !nest.has_float && !nest.has_int);
    if (!fits) {
        Py_RETURN_NONE;
    }
    PyObject *made = PyArray_SimpleNew(nest.ndim, nest.shape, type_number);
    if (made == NULL) {
        return NULL;
    }
    char *out = PyArray_DATA(ARRAY(made));
    if (!put(arguments[0], 0, &nest, type_number, &out)) {
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    return made;
}
