/* batch_norm of arrays (samples, channels, places) that lie row by row, where there is one place for each channel or where
 * the statistics are given; and its gradients. `_windows` has the rest. */
#include "arrays.h"

typedef struct {
    const ChannelWork *work;
    ChannelLoop loop;
} Pieces;

static void
do_pieces(void *context, npy_intp start, npy_intp stop)
{
    const Pieces *pieces = context;
    pieces->loop(pieces->work, start, stop);
}

/* All pieces of a loop; `count` of them make up the array. */
static void
run_pieces(const ChannelWork *work, const ChannelLoop *loop, int number, npy_intp count)
{
    const npy_intp each = work->samples * work->channels * work->places / count;
    in_threads(row_pool, do_pieces, &(Pieces){work, loop[number]}, count, THREAD_GRAIN / (each + 1) + 1);
}

static npy_intp
pieces_of(const ChannelWork *work)
{
    return work->places == 1 ? (work->channels + COLUMNS_TOGETHER - 1) / COLUMNS_TOGETHER
                             : work->samples * work->channels;
}

/* Whether a vector is None or has `size` elements of the type; its data. */
static int
read_vector(PyObject *object, int number, npy_intp size, const void **data)
{
    *data = NULL;
    if (object == Py_None) {
        return 1;
    }
    if (type_number(object) != number || !is_plain(object) || PyArray_SIZE(ARRAY(object)) != size) {
        return 0;
    }
    *data = PyArray_DATA(ARRAY(object));
    return 1;
}

/* Whether an array lies row by row and has elements, samples times channels times places. */
static int
read_channels(PyObject *input, PyObject *shape, ChannelWork *work)
{
    if (!is_plain(input) || !PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != 3) {
        return 0;
    }
    ptrdiff_t *const sizes[3] = {&work->samples, &work->channels, &work->places};
    for (int index = 0; index < 3; index++) {
        *sizes[index] = PyNumber_AsSsize_t(PyTuple_GET_ITEM(shape, index), PyExc_OverflowError);
        if (PyErr_Occurred() || *sizes[index] < 1) {
            return 0;
        }
    }
    const npy_intp size = PyArray_SIZE(ARRAY(input));
    return work->samples <= size && work->channels <= size / work->samples
           && work->places == size / work->samples / work->channels
           && work->samples * work->channels * work->places == size;
}

static void
normalize(const ChannelWork *work, int number)
{
    if (!work->fixed) {
        run_pieces(work, row_loops->channel_statistics, number, pieces_of(work));
    }
    run_pieces(work, row_loops->channel_apply, number, pieces_of(work));
}

/* A copy of a vector, or a new one: (1, channels, 1), or (channels, 1) where the statistics are given. */
static PyObject *
new_statistics(const ChannelWork *work, const void *given, int type)
{
    npy_intp three[3] = {1, work->channels, 1}, two[2] = {work->channels, 1};
    PyObject *vector = given == NULL ? PyArray_SimpleNew(3, three, type) : PyArray_SimpleNew(2, two, type);
    if (vector != NULL && given != NULL) {
        memcpy(PyArray_DATA(ARRAY(vector)), given, (size_t)PyArray_NBYTES(ARRAY(vector)));
    }
    return vector;
}

static void
find_inverse(int type, const void *variance, void *inverse, npy_intp count, double epsilon)
{
    for (npy_intp at = 0; at < count; at++) {
        if (type == NPY_FLOAT32) {
            ((float *)inverse)[at] = 1 / sqrtf(((const float *)variance)[at] + (float)epsilon);
        }
        else {
            ((double *)inverse)[at] = 1 / sqrt(((const double *)variance)[at] + epsilon);
        }
    }
}

/* channel_norm(input, weight, bias, mean, variance, shape, eps): the result, mean, one over the deviation and
 * variance; mean and variance are None, or given, one for each channel. */
static PyObject *
rows_channel_norm(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 7, "channel_norm")) {
        return NULL;
    }
    PyObject *input = arguments[0];
    ChannelWork work = {.epsilon = PyFloat_AsDouble(arguments[6])};
    const int number = type_number(input);
    const void *mean = NULL, *variance = NULL;
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (number < 0 || !read_channels(input, arguments[5], &work)
        || !read_vector(arguments[1], number, work.channels, &work.weight)
        || !read_vector(arguments[2], number, work.channels, &work.bias)
        || !read_vector(arguments[3], number, work.channels, &mean)
        || !read_vector(arguments[4], number, work.channels, &variance) || (mean == NULL) != (variance == NULL)
        || (mean == NULL && work.places != 1)) {
        if (PyErr_Occurred()) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
    work.fixed = mean != NULL;
    const int type = PyArray_TYPE(ARRAY(input));
    PyObject *parts[4] = {
        PyArray_SimpleNew(PyArray_NDIM(ARRAY(input)), PyArray_DIMS(ARRAY(input)), type),
        new_statistics(&work, mean, type), new_statistics(&work, variance, type), new_statistics(&work, variance, type),
    };
    PyObject *all = NULL;
    if (parts[0] != NULL && parts[1] != NULL && parts[2] != NULL && parts[3] != NULL) {
        work.input = PyArray_DATA(ARRAY(input));
        work.result = PyArray_DATA(ARRAY(parts[0]));
        work.mean = PyArray_DATA(ARRAY(parts[1]));
        work.inverse = PyArray_DATA(ARRAY(parts[2]));
        work.variance = PyArray_DATA(ARRAY(parts[3]));
        if (work.fixed) {
            find_inverse(type, work.variance, work.inverse, work.channels, work.epsilon);
        }
        WITHOUT_LOCK(PyArray_SIZE(ARRAY(input)), normalize(&work, number));
        all = PyTuple_Pack(4, parts[0], parts[1], parts[2], parts[3]);
    }
    for (int index = 0; index < 4; index++) {
        Py_XDECREF(parts[index]);
    }
    return all;
}

static void
find_gradients(const ChannelWork *work, int number)
{
    if (!work->fixed || work->of_weight != NULL || work->of_bias != NULL) {
        run_pieces(work, row_loops->channel_sums, number, pieces_of(work));
        row_loops->channel_totals[number](work);
    }
    if (work->result != NULL) {
        run_pieces(work, row_loops->channel_slopes, number, pieces_of(work));
    }
}

/* The gradients that are wanted, of arrays that were checked. */
static PyObject *
run_gradients(ChannelWork *work, PyObject *input, PyObject *needs, int number)
{
    const int type = PyArray_TYPE(ARRAY(input));
    npy_intp channels = work->channels;
    void **const places[3] = {&work->result, &work->of_weight, &work->of_bias};
    PyObject *parts[3] = {NULL, NULL, NULL}, *all = NULL;
    const size_t sums = (size_t)(work->places == 1 ? channels : work->samples * channels);
    double *scratch = PyMem_Malloc(2 * (sums + (size_t)work->channels) * sizeof(double));
    int fine = scratch != NULL;
    for (int index = 0; index < 3; index++) {
        if (PyTuple_GET_ITEM(needs, index) != Py_True) {
            parts[index] = Py_NewRef(Py_None);
            continue;
        }
        parts[index] = index == 0 ? PyArray_SimpleNew(PyArray_NDIM(ARRAY(input)), PyArray_DIMS(ARRAY(input)), type)
                                  : PyArray_SimpleNew(1, &channels, type);
        fine = fine && parts[index] != NULL;
        *places[index] = parts[index] == NULL ? NULL : PyArray_DATA(ARRAY(parts[index]));
    }
    if (fine) {
        work->sums = scratch;
        work->taken = scratch + 2 * sums;
        WITHOUT_LOCK(PyArray_SIZE(ARRAY(input)), find_gradients(work, number));
        all = PyTuple_Pack(3, parts[0], parts[1], parts[2]);
    }
    else if (scratch == NULL) {
        PyErr_NoMemory();
    }
    for (int index = 0; index < 3; index++) {
        Py_XDECREF(parts[index]);
    }
    PyMem_Free(scratch);
    return all;
}

/* channel_norm_gradients(grad, input, weight, mean, inverse, shape, fixed, needs): for input, weight and bias those
 * that `needs` says, else None; `fixed`: mean and deviation do not depend on the input. */
static PyObject *
rows_channel_norm_gradients(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 8, "channel_norm_gradients")) {
        return NULL;
    }
    PyObject *gradient = arguments[0], *input = arguments[1], *needs = arguments[7];
    ChannelWork work = {.fixed = arguments[6] == Py_True};
    const int number = type_number(gradient);
    const void *mean, *inverse;
    if (!PyTuple_CheckExact(needs) || PyTuple_GET_SIZE(needs) != 3) {
        PyErr_SetString(PyExc_TypeError, "channel_norm_gradients() takes what is needed as a tuple of three");
        return NULL;
    }
    if (number < 0 || type_number(input) != number
        || PyArray_NDIM(ARRAY(gradient)) != PyArray_NDIM(ARRAY(input))
        || !PyArray_CompareLists(PyArray_DIMS(ARRAY(gradient)), PyArray_DIMS(ARRAY(input)), PyArray_NDIM(ARRAY(input)))
        || !read_channels(input, arguments[5], &work)
        || !read_vector(arguments[2], number, work.channels, &work.weight)
        || !read_vector(arguments[3], number, work.channels, &mean) || mean == NULL
        || !read_vector(arguments[4], number, work.channels, &inverse) || inverse == NULL
        || (!work.fixed && work.places != 1)) {
        if (PyErr_Occurred()) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
    work.mean = (void *)mean;
    work.inverse = (void *)inverse;
    work.input = PyArray_DATA(ARRAY(input));
    gradient = PyArray_FromArray(ARRAY(gradient), NULL, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED);
    if (gradient == NULL) {
        return NULL;
    }
    work.gradient = PyArray_DATA(ARRAY(gradient));
    PyObject *all = run_gradients(&work, input, needs, number);
    Py_DECREF(gradient);
    return all;
}

/* ---- running statistics --------------------------------------------------------------------------------------- */

#define FOLLOW(type)                                                                                  \
    static void follow_##type(type *running, const type *value, npy_intp count, double momentum, double factor) \
    {                                                                                                 \
        const type kept = (type)(1 - momentum), taken = (type)momentum, scale = (type)factor;         \
        for (npy_intp at = 0; at < count; at++) {                                                     \
            const type scaled = value[at] * scale;                                                    \
            const type share = scaled * taken, rest = running[at] * kept;                             \
            running[at] = rest + share;                                                               \
        }                                                                                             \
    }

FOLLOW(float)
FOLLOW(double)

static void
follow(PyObject *running, PyObject *value, int number, double momentum, double factor)
{
    const npy_intp count = PyArray_SIZE(ARRAY(running));
    void *target = PyArray_DATA(ARRAY(running));
    if (number == 0) {
        follow_float(target, PyArray_DATA(ARRAY(value)), count, momentum, factor);
    }
    else {
        follow_double(target, PyArray_DATA(ARRAY(value)), count, momentum, factor);
    }
}

/* follow(running_mean, running_var, mean, variance, momentum, factor): moves the first two towards the mean and the
 * variance times the factor; whether the arrays are such that it did. */
static PyObject *
rows_follow(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 6, "follow")) {
        return NULL;
    }
    const double momentum = PyFloat_AsDouble(arguments[4]), factor = PyFloat_AsDouble(arguments[5]);
    const int number = type_number(arguments[0]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    for (int index = 0; index < 4; index++) {
        PyObject *array = arguments[index];
        if (number < 0 || type_number(array) != number || !is_plain(array) || (index < 2 && !PyArray_ISWRITEABLE(ARRAY(array)))
            || PyArray_SIZE(ARRAY(array)) != PyArray_SIZE(ARRAY(arguments[0]))) {
            Py_RETURN_FALSE;
        }
    }
    follow(arguments[0], arguments[2], number, momentum, 1);
    follow(arguments[1], arguments[3], number, momentum, factor);
    Py_RETURN_TRUE;
}

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))rows_##name, METH_FASTCALL, text}

PyMethodDef channel_methods[] = {
    METHOD(channel_norm, "channel_norm(input, weight, bias, mean, variance, shape, eps)"),
    METHOD(channel_norm_gradients,
           "channel_norm_gradients(grad, input, weight, mean, inverse, shape, fixed, needs)"),
    METHOD(follow, "follow(running_mean, running_var, mean, variance, momentum, factor)"),
    {NULL, NULL, 0, NULL},
};
