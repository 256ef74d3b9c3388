/* Elementwise functions of arrays and numbers, in one pass; their loops are written from the kernels of the ops by
 * retrograd/replay/elementwise_loops.py, and have NumPy's bits. */
#include "arrays.h"

/* Up to this many elements the core, or NumPy, is as fast. */
#define SHORT_WORK 1024

typedef struct {
    const ElementWork *whole;
    ElementLoop loop;
} Elements;

static void
do_elements(void *context, npy_intp start, npy_intp stop)
{
    const Elements *elements = context;
    elements->loop(elements->whole, start, stop);
}

/* A Python number, or an element in an array without dimensions of the type. */
static int
read_number(PyObject *object, int type, double *number)
{
    if (PyFloat_CheckExact(object)) {
        *number = PyFloat_AS_DOUBLE(object);
        return 1;
    }
    if (PyLong_CheckExact(object)) {
        int overflow;
        const long long whole = PyLong_AsLongLongAndOverflow(object, &overflow);
        *number = (double)whole;
        return !overflow && whole <= (1LL << 53) && whole >= -(1LL << 53);
    }
    if (type_number(object) != type || PyArray_NDIM(ARRAY(object)) != 0 || !PyArray_ISALIGNED(ARRAY(object))) {
        return 0;
    }
    *number = type == 0 ? *(const float *)PyArray_DATA(ARRAY(object)) : *(const double *)PyArray_DATA(ARRAY(object));
    return 1;
}

/* Whether an array has truths or numbers, as `kind` says, and lies as `first` does. */
static int
fits(PyObject *array, char kind, PyObject *first)
{
    const int of_kind = kind == 't' ? PyArray_CheckExact(array) && PyArray_TYPE(ARRAY(array)) == NPY_BOOL
                                    : type_number(array) == type_number(first);
    return of_kind && is_dense(array) && are_same_shape(array, first) && are_laid_alike(array, first);
}

static PyObject *
run_elements(int which, const char *kinds, PyObject *const *operands)
{
    PyObject *first = operands[strchr(kinds, 'r') - kinds];
    const int number = type_number(first);
    ElementWork work;
    int inputs = 0, numbers = 0;
    if (number < 0 || PyArray_SIZE(ARRAY(first)) <= SHORT_WORK) {
        Py_RETURN_NONE;
    }
    for (int at = 0; kinds[at] != 0; at++) {
        if (kinds[at] == 'n' ? !read_number(operands[at], number, &work.numbers[numbers++])
                             : !fits(operands[at], kinds[at], first)) {
            Py_RETURN_NONE;
        }
        if (kinds[at] != 'n') {
            work.inputs[inputs++] = PyArray_DATA(ARRAY(operands[at]));
        }
    }
    PyObject *result = new_like(first);
    if (result != NULL) {
        const npy_intp size = PyArray_SIZE(ARRAY(first));
        work.result = PyArray_DATA(ARRAY(result));
        WITHOUT_LOCK(size, in_threads(row_pool, do_elements, &(Elements){&work, row_loops->elements[which][number]}, size,
                                      THREAD_GRAIN));
    }
    return result;
}

#define FUNCTION(name, kinds)                                                                                     \
    static PyObject *rows_##name(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)       \
    {                                                                                                             \
        return has_count(count, sizeof(kinds) - 1, #name) ? run_elements(ELEMENTS_##name, kinds, arguments) : NULL; \
    }
ELEMENTWISE_LOOPS(FUNCTION)

static int
is_number(PyObject *object)
{
    return !PyArray_CheckExact(object) || PyArray_NDIM(ARRAY(object)) == 0;
}

/* where(condition, input, other): either may be a number. */
static PyObject *
rows_where(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 3, "where")) {
        return NULL;
    }
    if (is_number(arguments[1])) {
        return rows_number_or_chosen(module, arguments, count);
    }
    return (is_number(arguments[2]) ? rows_chosen_or_number : rows_chosen)(module, arguments, count);
}

#define METHOD(name, kinds)                                                            \
    {#name, (PyCFunction)(void (*)(void))rows_##name, METH_FASTCALL, #name ", of " kinds},

PyMethodDef element_methods[] = {
    ELEMENTWISE_LOOPS(METHOD)
    {"where", (PyCFunction)(void (*)(void))rows_where, METH_FASTCALL, "where(condition, input, other)"},
    {NULL, NULL, 0, NULL},
};
