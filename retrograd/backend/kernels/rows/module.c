/* retrograd.backend.kernels._rows: functions that take a whole array in one pass, or in as few as there can be.
 *
 * Each returns a new array, or None, meaning that the arrays are none that it takes: then the neutral kernel does it.
 * They take float32 and float64 arrays of NumPy's own class in the machine's byte order. Row by row any layout is
 * taken, by a copy where it must be; elementwise the arrays have to be dense and alike. Everything is checked here,
 * before a loop touches memory.
 */
#define IMPORTS_NUMPY
#include "arrays.h"
#include "sums.h"

#include "../builds.h"
#include "../sources.h"
#include "../turning.h"

const RowLoops *row_loops;
const ThreadPool *row_pool;

/* ---- what comes in ------------------------------------------------------------------------------------------ */

PyObject *
by_rows(PyObject *array)
{
    return is_plain(array) ? Py_NewRef(array) : copy_in_rows(ARRAY(array), row_pool);
}

/* copy_in_rows(array): of anything that NumPy takes for an array. */
static PyObject *
rows_copy_in_rows(PyObject *Py_UNUSED(module), PyObject *array)
{
    if (PyArray_CheckExact(array)) {
        return copy_in_rows(ARRAY(array), row_pool);
    }
    return PyArray_FromAny(array, NULL, 0, 0, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ENSURECOPY | NPY_ARRAY_ENSUREARRAY, NULL);
}

/* ---- in several threads ------------------------------------------------------------------------------------- */

/* Rows, or elements, of arrays that lie alike; `other` is NULL where there is one operand. */
typedef struct {
    RowsLoop rows;
    RowPairsLoop row_pairs;
    MapLoop map;
    PairLoop pair;
    const char *input, *other;
    char *result;
    npy_intp length, item; /* elements of a row, or 1; bytes of an element */
} Spread;

static void
do_spread(void *context, npy_intp start, npy_intp stop)
{
    const Spread *whole = context;
    const npy_intp skip = start * whole->length * whole->item, count = stop - start;
    const char *input = whole->input + skip, *other = whole->other == NULL ? NULL : whole->other + skip;
    char *result = whole->result + skip;
    if (whole->rows != NULL) {
        whole->rows(input, result, count, whole->length);
    }
    else if (whole->row_pairs != NULL) {
        whole->row_pairs(input, other, result, count, whole->length);
    }
    else if (whole->map != NULL) {
        whole->map(input, result, count);
    }
    else {
        whole->pair(input, other, result, count);
    }
}

/* All rows (or elements, with rows of one), in pieces that are worth it. Each is computed alone, so the bits stay. */
static void
spread(Spread *whole, PyObject *input, PyObject *other, PyObject *result, npy_intp count, npy_intp length)
{
    whole->input = PyArray_DATA(ARRAY(input));
    whole->other = other == NULL ? NULL : PyArray_DATA(ARRAY(other));
    whole->result = PyArray_DATA(ARRAY(result));
    whole->length = length;
    whole->item = PyArray_ITEMSIZE(ARRAY(input));
    const npy_intp grain = length == 0 ? 1 : (THREAD_GRAIN / 4 + length - 1) / length; /* an exponential takes longer than a sum */
    WITHOUT_LOCK(count * length, in_threads(row_pool, do_spread, whole, count, grain));
}

/* ---- softmax ------------------------------------------------------------------------------------------------ */

int
read_rows(PyObject *array, PyObject *dim, Rows *rows)
{
    const int last = PyArray_NDIM(ARRAY(array)) - 1;
    if (last < 0 || PyArray_SIZE(ARRAY(array)) <= SHORT_WORK || !PyLong_CheckExact(dim)) {
        return 0;
    }
    int overflow;
    const long place = PyLong_AsLongAndOverflow(dim, &overflow);
    if (overflow || (place != -1 && place != last)) {
        return 0;
    }
    rows->length = PyArray_DIM(ARRAY(array), last);
    rows->count = PyArray_SIZE(ARRAY(array)) / rows->length;
    return 1;
}

static PyObject *
run_rows(const RowsLoop *loop, PyObject *const *arguments, Py_ssize_t count, const char *name)
{
    if (!has_count(count, 2, name)) {
        return NULL;
    }
    Rows rows;
    const int number = type_number(arguments[0]);
    if (number < 0 || !read_rows(arguments[0], arguments[1], &rows)) {
        Py_RETURN_NONE;
    }
    PyObject *input = by_rows(arguments[0]), *result = input == NULL ? NULL : new_like(input);
    if (result != NULL) {
        spread(&(Spread){.rows = loop[number]}, input, NULL, result, rows.count, rows.length);
    }
    Py_XDECREF(input);
    return result;
}

static PyObject *
run_row_pairs(const RowPairsLoop *loop, PyObject *const *arguments, Py_ssize_t count, const char *name)
{
    if (!has_count(count, 3, name)) {
        return NULL;
    }
    Rows rows;
    const int number = type_number(arguments[0]);
    if (number < 0 || type_number(arguments[1]) != number || !are_same_shape(arguments[0], arguments[1])
        || !read_rows(arguments[0], arguments[2], &rows)) {
        Py_RETURN_NONE;
    }
    PyObject *gradient = by_rows(arguments[0]), *output = by_rows(arguments[1]);
    PyObject *result = gradient == NULL || output == NULL ? NULL : new_like(gradient);
    if (result != NULL) {
        spread(&(Spread){.row_pairs = loop[number]}, gradient, output, result, rows.count, rows.length);
    }
    Py_XDECREF(gradient);
    Py_XDECREF(output);
    return result;
}

/* ---- elementwise -------------------------------------------------------------------------------------------- */

static PyObject *
run_map(const MapLoop *loop, PyObject *const *arguments, Py_ssize_t count, const char *name)
{
    if (!has_count(count, 1, name)) {
        return NULL;
    }
    PyObject *input = arguments[0];
    const int number = type_number(input);
    if (number < 0 || loop[number] == NULL || !is_dense(input)) {
        Py_RETURN_NONE;
    }
    PyObject *result = new_like(input);
    if (result != NULL) {
        spread(&(Spread){.map = loop[number]}, input, NULL, result, PyArray_SIZE(ARRAY(input)), 1);
    }
    return result;
}

static PyObject *
run_pair(const PairLoop *loop, PyObject *const *arguments, Py_ssize_t count, const char *name)
{
    if (!has_count(count, 2, name)) {
        return NULL;
    }
    PyObject *gradient = arguments[0], *other = arguments[1];
    const int number = type_number(gradient);
    if (number < 0 || type_number(other) != number || loop[number] == NULL || !are_same_shape(gradient, other)
        || !is_dense(gradient) || !is_dense(other) || !are_laid_alike(gradient, other)) {
        Py_RETURN_NONE;
    }
    PyObject *result = new_like(gradient);
    if (result != NULL) {
        spread(&(Spread){.pair = loop[number]}, gradient, other, result, PyArray_SIZE(ARRAY(gradient)), 1);
    }
    return result;
}

/* ---- layer_norm --------------------------------------------------------------------------------------------- */

/* Whether a parameter is None or a vector that fits the columns; its data. */
static int
read_parameter(PyObject *object, int number, npy_intp columns, const void **data)
{
    *data = NULL;
    if (object == Py_None) {
        return 1;
    }
    if (type_number(object) != number || !PyArray_IS_C_CONTIGUOUS(ARRAY(object)) || !PyArray_ISALIGNED(ARRAY(object))
        || PyArray_SIZE(ARRAY(object)) != columns) {
        return 0;
    }
    *data = PyArray_DATA(ARRAY(object));
    return 1;
}

/* Whether an array has elements and these make rows of so many columns. */
static int
read_norm(PyObject *input, PyObject *columns, NormWork *work)
{
    const npy_intp size = PyArray_SIZE(ARRAY(input));
    const Py_ssize_t wanted = PyNumber_AsSsize_t(columns, PyExc_OverflowError);
    if (wanted < 1 || size < 1 || size % wanted != 0) {
        return 0;
    }
    work->columns = wanted;
    work->rows = size / wanted;
    return 1;
}

/* layer_norm(input, weight, bias, columns, eps): the result, and mean and one over the deviation, (1, rows, 1). */
static PyObject *
rows_layer_norm(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 5, "layer_norm")) {
        return NULL;
    }
    NormWork work = {.epsilon = PyFloat_AsDouble(arguments[4])};
    const int number = type_number(arguments[0]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (number < 0 || !read_norm(arguments[0], arguments[3], &work)
        || !read_parameter(arguments[1], number, work.columns, &work.weight)
        || !read_parameter(arguments[2], number, work.columns, &work.bias)) {
        if (PyErr_Occurred()) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
    npy_intp dims[3] = {1, work.rows, 1};
    const int type = PyArray_TYPE(ARRAY(arguments[0]));
    PyObject *input = by_rows(arguments[0]), *result = input == NULL ? NULL : new_like(input);
    PyObject *mean = PyArray_SimpleNew(3, dims, type), *inverse = PyArray_SimpleNew(3, dims, type), *all = NULL;
    if (result != NULL && mean != NULL && inverse != NULL) {
        work.input = PyArray_DATA(ARRAY(input));
        work.result = PyArray_DATA(ARRAY(result));
        work.mean = PyArray_DATA(ARRAY(mean));
        work.inverse = PyArray_DATA(ARRAY(inverse));
        WITHOUT_LOCK(work.rows * work.columns, row_loops->layer_norm[number](&work));
        all = PyTuple_Pack(3, result, mean, inverse);
    }
    Py_XDECREF(input);
    Py_XDECREF(result);
    Py_XDECREF(mean);
    Py_XDECREF(inverse);
    return all;
}

/* A new array if it is wanted; None if not. */
static PyObject *
wanted_array(PyObject *flag, int ndim, npy_intp *dims, int type, int zeros)
{
    if (flag != Py_True) {
        return Py_NewRef(Py_None);
    }
    return zeros ? PyArray_ZEROS(ndim, dims, type, 0) : PyArray_EMPTY(ndim, dims, type, 0);
}

static void *
data_of(PyObject *array)
{
    return array == Py_None ? NULL : PyArray_DATA(ARRAY(array));
}

/* The gradients that are wanted, of arrays that were checked. */
static PyObject *
run_norm_gradients(NormWork *work, PyObject *gradient, PyObject *input, PyObject *needs, int number)
{
    const int type = PyArray_TYPE(ARRAY(input));
    npy_intp columns = work->columns;
    PyObject *of_input = wanted_array(PyTuple_GET_ITEM(needs, 0), PyArray_NDIM(ARRAY(input)),
                                      PyArray_DIMS(ARRAY(input)), type, 0);
    PyObject *of_weight = wanted_array(PyTuple_GET_ITEM(needs, 1), 1, &columns, type, 1);
    PyObject *of_bias = wanted_array(PyTuple_GET_ITEM(needs, 2), 1, &columns, type, 1);
    PyObject *scratch = PyArray_SimpleNew(1, (npy_intp[]){2 * columns}, type), *all = NULL;
    if (of_input != NULL && of_weight != NULL && of_bias != NULL && scratch != NULL) {
        work->input = PyArray_DATA(ARRAY(input));
        work->gradient = PyArray_DATA(ARRAY(gradient));
        work->result = data_of(of_input);
        work->of_weight = data_of(of_weight);
        work->of_bias = data_of(of_bias);
        work->scratch = PyArray_DATA(ARRAY(scratch));
        WITHOUT_LOCK(work->rows * work->columns, row_loops->layer_norm_gradients[number](work));
        all = PyTuple_Pack(3, of_input, of_weight, of_bias);
    }
    Py_XDECREF(of_input);
    Py_XDECREF(of_weight);
    Py_XDECREF(of_bias);
    Py_XDECREF(scratch);
    return all;
}

/* layer_norm_gradients(grad, input, weight, mean, inverse, columns, needs): for input, weight and bias those that
 * `needs` says, else None; those of weight and bias are vectors. */
static PyObject *
rows_layer_norm_gradients(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 7, "layer_norm_gradients")) {
        return NULL;
    }
    NormWork work = {0};
    PyObject *needs = arguments[6];
    const int number = type_number(arguments[0]);
    const void *mean, *inverse;
    if (!PyTuple_CheckExact(needs) || PyTuple_GET_SIZE(needs) != 3) {
        PyErr_SetString(PyExc_TypeError, "layer_norm_gradients() takes what is needed as a tuple of three");
        return NULL;
    }
    if (number < 0 || type_number(arguments[1]) != number || !are_same_shape(arguments[0], arguments[1])
        || !read_norm(arguments[1], arguments[5], &work)
        || !read_parameter(arguments[2], number, work.columns, &work.weight)
        || !read_parameter(arguments[3], number, work.rows, &mean)
        || !read_parameter(arguments[4], number, work.rows, &inverse) || mean == NULL || inverse == NULL) {
        if (PyErr_Occurred()) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
    work.mean = (void *)mean;
    work.inverse = (void *)inverse;
    PyObject *gradient = by_rows(arguments[0]), *input = by_rows(arguments[1]), *all = NULL;
    if (gradient != NULL && input != NULL) {
        all = run_norm_gradients(&work, gradient, input, needs, number);
    }
    Py_XDECREF(gradient);
    Py_XDECREF(input);
    return all;
}

/* ---- the builds --------------------------------------------------------------------------------------------- */

BUILDS_OF(rows, row_loops)

/* ---- the module --------------------------------------------------------------------------------------------- */

#define FUNCTION(name, run)                                                                                       \
    static PyObject *rows_##name(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)       \
    {                                                                                                             \
        return run(row_loops->name, arguments, count, #name);                                                         \
    }

FUNCTION(softmax, run_rows)
FUNCTION(log_softmax, run_rows)
FUNCTION(softmax_gradient, run_row_pairs)
FUNCTION(log_softmax_gradient, run_row_pairs)
FUNCTION(sigmoid, run_map)
FUNCTION(silu, run_map)
FUNCTION(gelu, run_map)
FUNCTION(gelu_tanh, run_map)
FUNCTION(silu_gradient, run_pair)
FUNCTION(softplus_gradient, run_pair)
FUNCTION(gelu_gradient, run_pair)
FUNCTION(gelu_tanh_gradient, run_pair)

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))rows_##name, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    METHOD(softmax, "softmax(input, dim)"),
    METHOD(log_softmax, "log_softmax(input, dim)"),
    METHOD(softmax_gradient, "softmax_gradient(grad, output, dim)"),
    METHOD(log_softmax_gradient, "log_softmax_gradient(grad, output, dim)"),
    METHOD(sigmoid, "sigmoid(input)"),
    METHOD(silu, "silu(input)"),
    METHOD(gelu, "gelu(input): the form with erf"),
    METHOD(gelu_tanh, "gelu_tanh(input)"),
    METHOD(silu_gradient, "silu_gradient(grad, input)"),
    METHOD(softplus_gradient, "softplus_gradient(grad, input): with beta 1 and threshold 20"),
    METHOD(gelu_gradient, "gelu_gradient(grad, input)"),
    METHOD(gelu_tanh_gradient, "gelu_tanh_gradient(grad, input)"),
    METHOD(layer_norm, "layer_norm(input, weight, bias, columns, eps): result, mean, one over deviation"),
    METHOD(layer_norm_gradients, "layer_norm_gradients(grad, input, weight, mean, inverse, columns, needs)"),
    {"copy_in_rows", rows_copy_in_rows, METH_O, "copy_in_rows(array)"},
    {"builds", rows_builds, METH_NOARGS, "builds(): the builds of the loops that can run here, the fastest first."},
    {"use_build", rows_use_build, METH_O, "use_build(name): compute with that build; the name of the one before."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_rows", .m_doc = "Compiled kernels that work row by row.", .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__rows(void)
{
    row_pool = find_thread_pool();
    const void *builds[MOST_BUILDS];
    import_array();
    usable_builds(builds);
    row_loops = builds[0];
    PyObject *module = with_sources(PyModule_Create(&definition));
    PyMethodDef *const topics[] = {sum_methods,     channel_methods,   taking_methods,    adding_methods, running_methods, logsumexp_methods,
                                   element_methods, recurrent_methods, attention_methods, loss_methods,   product_methods};
    for (size_t at = 0; module != NULL && at < sizeof topics / sizeof *topics; at++) {
        if (PyModule_AddFunctions(module, topics[at]) < 0) {
            Py_CLEAR(module);
        }
    }
    if (module != NULL && !find_short_sum()) {
        Py_CLEAR(module);
    }
    return module;
}
