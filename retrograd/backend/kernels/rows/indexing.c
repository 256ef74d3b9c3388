/* Reading and adding through an index: whole rows, and elements along a dimension.
 *
 * Places are added to one after the other in the order of the index, so the bits are NumPy's. An index is read once
 * before anything is written: where a number is out of bounds, nothing is done, and the neutral kernel says so.
 */
#include "arrays.h"

/* int64 in the machine's order, row by row. */
static int
is_index(PyObject *object)
{
    return PyArray_CheckExact(object) && PyArray_TYPE(ARRAY(object)) == NPY_INT64 && PyArray_ISNOTSWAPPED(ARRAY(object))
           && is_plain(object);
}

static int
is_within(PyObject *index, npy_intp size)
{
    const npy_int64 *places = PyArray_DATA(ARRAY(index));
    npy_uint64 largest = 0; /* what is below zero is large as well */
    for (npy_intp at = 0, count = PyArray_SIZE(ARRAY(index)); at < count; at++) {
        largest = (npy_uint64)places[at] > largest ? (npy_uint64)places[at] : largest;
    }
    return PyArray_SIZE(ARRAY(index)) == 0 || largest < (npy_uint64)size;
}

static int
are_apart(PyObject *a, PyObject *b)
{
    const char *first = PyArray_DATA(ARRAY(a)), *second = PyArray_DATA(ARRAY(b));
    return first + PyArray_NBYTES(ARRAY(a)) <= second || second + PyArray_NBYTES(ARRAY(b)) <= first;
}

#define ADD_ROWS(name, type)                                                                                          \
    static void name(type *restrict table, const npy_int64 *places, const type *restrict values, npy_intp rows,        \
                     npy_intp width)                                                                                   \
    {                                                                                                                  \
        for (npy_intp row = 0; row < rows; row++, values += width) {                                                   \
            type *restrict target = table + places[row] * width;                                                       \
            for (npy_intp at = 0; at < width; at++) {                                                                  \
                target[at] += values[at];                                                                              \
            }                                                                                                          \
        }                                                                                                              \
    }

ADD_ROWS(add_float_rows, npy_float32)
ADD_ROWS(add_double_rows, npy_float64)

/* add_rows(flat, rows, values): adds row i of values to row rows[i] of a flat table, in place; whether it was done. */
static PyObject *
rows_add_rows(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 3, "add_rows")) {
        return NULL;
    }
    PyObject *flat = arguments[0], *rows = arguments[1], *values = arguments[2];
    const int number = type_number(flat);
    if (number < 0 || type_number(values) != number || !is_plain(flat) || !is_plain(values) || !is_index(rows)
        || !PyArray_ISWRITEABLE(ARRAY(flat)) || PyArray_NDIM(ARRAY(values)) != 2
        || PyArray_DIM(ARRAY(values), 0) != PyArray_SIZE(ARRAY(rows)) || !are_apart(flat, values)) {
        Py_RETURN_FALSE;
    }
    const npy_intp width = PyArray_DIM(ARRAY(values), 1);
    if (width == 0 || PyArray_SIZE(ARRAY(flat)) % width != 0 || !is_within(rows, PyArray_SIZE(ARRAY(flat)) / width)) {
        Py_RETURN_FALSE;
    }
    const npy_int64 *places = PyArray_DATA(ARRAY(rows));
    void *table = PyArray_DATA(ARRAY(flat));
    const void *data = PyArray_DATA(ARRAY(values));
    const npy_intp size = PyArray_SIZE(ARRAY(values)), each = PyArray_SIZE(ARRAY(rows));
    if (number == 0) {
        WITHOUT_LOCK(size, add_float_rows(table, places, data, each, width));
    }
    else {
        WITHOUT_LOCK(size, add_double_rows(table, places, data, each, width));
    }
    Py_RETURN_TRUE;
}

/* ---- along a dimension ---------------------------------------------------------------------------------------- */

typedef struct {
    npy_intp outer, size, length, inner; /* `size` places along the dimension, `length` of the index */
} Along;

/* Whether an index has an array's dimensions, but along `dim`, and stays in bounds. */
static int
read_along(PyObject *array, PyObject *dim, PyObject *index, Along *along)
{
    const int ndim = PyArray_NDIM(ARRAY(array));
    int overflow = 1;
    long axis = PyLong_CheckExact(dim) ? PyLong_AsLongAndOverflow(dim, &overflow) : 0;
    axis += axis < 0 ? ndim : 0;
    if (overflow || axis < 0 || axis >= ndim || !is_plain(array) || !is_index(index)
        || PyArray_NDIM(ARRAY(index)) != ndim || PyArray_SIZE(ARRAY(index)) == 0) {
        return 0;
    }
    *along = (Along){1, PyArray_DIM(ARRAY(array), axis), PyArray_DIM(ARRAY(index), axis), 1};
    for (int at = 0; at < ndim; at++) {
        if (at != axis && PyArray_DIM(ARRAY(array), at) != PyArray_DIM(ARRAY(index), at)) {
            return 0;
        }
        *(at < axis ? &along->outer : &along->inner) *= at == axis ? 1 : PyArray_DIM(ARRAY(array), at);
    }
    return is_within(index, along->size);
}

/* For every place of the index: the element of the array and the one beside the index. */
#define EACH_ALONG(name, type, here, there, act)                                                                 \
    static void name(here type *array, const npy_int64 *places, there type *beside, Along along)                 \
    {                                                                                                            \
        for (npy_intp outer = 0; outer < along.outer; outer++, array += along.size * along.inner) {              \
            for (npy_intp row = 0; row < along.length; row++, places += along.inner, beside += along.inner) {    \
                for (npy_intp at = 0; at < along.inner; at++) {                                                  \
                    act;                                                                                         \
                }                                                                                                \
            }                                                                                                    \
        }                                                                                                        \
    }

EACH_ALONG(take_floats, npy_float32, const, , beside[at] = array[places[at] * along.inner + at])
EACH_ALONG(take_doubles, npy_float64, const, , beside[at] = array[places[at] * along.inner + at])
EACH_ALONG(add_floats, npy_float32, , const, array[places[at] * along.inner + at] += beside[at])
EACH_ALONG(add_doubles, npy_float64, , const, array[places[at] * along.inner + at] += beside[at])

/* take_along(input, dim, index): the elements that the index names along a dimension. */
static PyObject *
rows_take_along(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 3, "take_along")) {
        return NULL;
    }
    PyObject *input = arguments[0], *index = arguments[2];
    const int number = type_number(input);
    Along along;
    if (number < 0 || !read_along(input, arguments[1], index, &along)) {
        Py_RETURN_NONE;
    }
    PyObject *found = PyArray_SimpleNew(PyArray_NDIM(ARRAY(index)), PyArray_DIMS(ARRAY(index)), PyArray_TYPE(ARRAY(input)));
    if (found != NULL) {
        const void *from = PyArray_DATA(ARRAY(input));
        const npy_int64 *places = PyArray_DATA(ARRAY(index));
        void *to = PyArray_DATA(ARRAY(found));
        const npy_intp size = PyArray_SIZE(ARRAY(index));
        if (number == 0) {
            WITHOUT_LOCK(size, take_floats(from, places, to, along));
        }
        else {
            WITHOUT_LOCK(size, take_doubles(from, places, to, along));
        }
    }
    return found;
}

/* add_along(input, dim, index, source, in_place): the source added to the elements that the index names, in a copy or not. */
static PyObject *
rows_add_along(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 5, "add_along")) {
        return NULL;
    }
    PyObject *input = arguments[0], *index = arguments[2], *source = arguments[3];
    const int number = type_number(input);
    Along along;
    if (number < 0 || type_number(source) != number || !is_plain(source) || !read_along(input, arguments[1], index, &along)
        || PyArray_NDIM(ARRAY(source)) != PyArray_NDIM(ARRAY(index))
        || !PyArray_CompareLists(PyArray_DIMS(ARRAY(source)), PyArray_DIMS(ARRAY(index)), PyArray_NDIM(ARRAY(index)))) {
        Py_RETURN_NONE;
    }
    const int in_place = arguments[4] == Py_True;
    if (in_place && (!PyArray_ISWRITEABLE(ARRAY(input)) || !are_apart(input, source))) {
        Py_RETURN_NONE;
    }
    PyObject *result = in_place ? Py_NewRef(input) : PyArray_NewCopy(ARRAY(input), NPY_CORDER);
    if (result != NULL) {
        void *to = PyArray_DATA(ARRAY(result));
        const npy_int64 *places = PyArray_DATA(ARRAY(index));
        const void *from = PyArray_DATA(ARRAY(source));
        const npy_intp size = PyArray_SIZE(ARRAY(index));
        if (number == 0) {
            WITHOUT_LOCK(size, add_floats(to, places, from, along));
        }
        else {
            WITHOUT_LOCK(size, add_doubles(to, places, from, along));
        }
    }
    return result;
}

/* ---- running sums --------------------------------------------------------------------------------------------- */

/* Eight rows at a time: each addition waits for the one before it in its row. They are read and written in short stretches: rows
 * that are a power of two apart, and element by element, would be in each other's way in the cache. */
#define TOGETHER 8
#define STRETCH 16

#define RUN_ROWS(name, type)                                                                              \
    static void name(const type *x, type *out, npy_intp rows, npy_intp length)                            \
    {                                                                                                     \
        for (npy_intp row = 0; row < rows; row += TOGETHER, x += TOGETHER * length, out += TOGETHER * length) { \
            const npy_intp few = rows - row < TOGETHER ? rows - row : TOGETHER;                           \
            double totals[TOGETHER];                                                                      \
            type values[TOGETHER][STRETCH] = {{0}};                                                       \
            for (npy_intp one = 0; one < TOGETHER; one++) {                                               \
                totals[one] = -0.0; /* which leaves the sign of a zero */                                 \
            }                                                                                             \
            for (npy_intp start = 0; start < length; start += STRETCH) {                                  \
                const npy_intp size = length - start < STRETCH ? length - start : STRETCH;                \
                for (npy_intp one = 0; one < few; one++) {                                                \
                    memcpy(values[one], x + one * length + start, (size_t)size * sizeof(type));           \
                }                                                                                         \
                for (npy_intp at = 0; at < size; at++) {                                                  \
                    for (npy_intp one = 0; one < TOGETHER; one++) {                                       \
                        totals[one] += (double)values[one][at];                                           \
                        values[one][at] = (type)totals[one];                                              \
                    }                                                                                     \
                }                                                                                         \
                for (npy_intp one = 0; one < few; one++) {                                                \
                    memcpy(out + one * length + start, values[one], (size_t)size * sizeof(type));         \
                }                                                                                         \
            }                                                                                             \
        }                                                                                                 \
    }

RUN_ROWS(run_float_rows, npy_float32)
RUN_ROWS(run_double_rows, npy_float64)

/* running_sum(input, dim): along the last dimension, in double; of any layout, by a copy where it must be. */
static PyObject *
rows_running_sum(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 2, "running_sum")) {
        return NULL;
    }
    PyObject *input = arguments[0], *dim = arguments[1];
    const int number = type_number(input);
    const int last = number < 0 ? -1 : PyArray_NDIM(ARRAY(input)) - 1;
    int overflow = 1;
    const long axis = PyLong_CheckExact(dim) ? PyLong_AsLongAndOverflow(dim, &overflow) : 0;
    if (last < 0 || overflow || (axis != -1 && axis != last) || PyArray_SIZE(ARRAY(input)) == 0) {
        Py_RETURN_NONE;
    }
    input = PyArray_FromArray(ARRAY(input), NULL, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED);
    if (input == NULL) {
        return NULL;
    }
    PyObject *result = PyArray_SimpleNew(last + 1, PyArray_DIMS(ARRAY(input)), PyArray_TYPE(ARRAY(input)));
    if (result != NULL) {
        const npy_intp size = PyArray_SIZE(ARRAY(input)), length = PyArray_DIM(ARRAY(input), last);
        const void *from = PyArray_DATA(ARRAY(input));
        void *to = PyArray_DATA(ARRAY(result));
        if (number == 0) {
            WITHOUT_LOCK(size, run_float_rows(from, to, size / length, length));
        }
        else {
            WITHOUT_LOCK(size, run_double_rows(from, to, size / length, length));
        }
    }
    Py_DECREF(input);
    return result;
}

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))rows_##name, METH_FASTCALL, text}

PyMethodDef index_methods[] = {
    METHOD(add_rows, "add_rows(flat, rows, values): whether rows of values were added to rows of a flat table"),
    METHOD(take_along, "take_along(input, dim, index)"),
    METHOD(add_along, "add_along(input, dim, index, source, in_place)"),
    METHOD(running_sum, "running_sum(input, dim)"),
    {NULL, NULL, 0, NULL},
};
