/* batch_norm and group_norm, and their gradients: the checks. */
#include "module.h"

/* Reads how an input of (samples, channels, length) is grouped: (samples, channels, length) itself, statistics by
 * channel; or (1, samples * groups, channels / groups * length). */
static int
read_layout(Planes *work, PyObject *input, PyObject *grouped, PyObject *scaled)
{
    ptrdiff_t groups[3], planes[3];
    if (!read_sizes(grouped, 3, 1, groups) || !read_sizes(scaled, 3, 1, planes)) {
        return 0;
    }
    *work = (Planes){.samples = planes[0], .channels = planes[1], .length = planes[2], .groups = 1};
    if (planes[0] != PyArray_DIM(ARRAY(input), 0) || planes[1] != PyArray_DIM(ARRAY(input), 1)
        || PyArray_SIZE(ARRAY(input)) / planes[0] / planes[1] != planes[2]) {
        return 0;
    }
    if (groups[0] == planes[0] && groups[1] == planes[1] && groups[2] == planes[2]) {
        work->by_channel = 1;
        work->statistics = planes[1];
        return work->length >= 4; /* shorter ones are columns: `channel_norm` of `_rows`, or NumPy */
    }
    work->groups = groups[1] / planes[0];
    work->statistics = groups[1];
    return groups[0] == 1 && groups[1] % planes[0] == 0 && planes[1] % work->groups == 0
           && groups[2] == planes[1] / work->groups * planes[2];
}

/* Whether a parameter is None, or has `size` elements of the type in order; its elements. */
static int
read_parameter(PyObject *object, int number, ptrdiff_t size, const void **data)
{
    *data = NULL;
    if (object == Py_None) {
        return 1;
    }
    if (type_number(object) != number || !PyArray_IS_C_CONTIGUOUS(ARRAY(object)) || !PyArray_ISALIGNED(ARRAY(object))
        || PyArray_SIZE(ARRAY(object)) != size) {
        return 0;
    }
    *data = PyArray_DATA(ARRAY(object));
    return 1;
}

static int
is_input(PyObject *array)
{
    return type_number(array) >= 0 && PyArray_NDIM(ARRAY(array)) >= 2 && PyArray_SIZE(ARRAY(array)) > 0;
}

typedef struct {
    const Planes *work;
    PlanesLoop loop;
} Shared;

/* Whole groups of channels; each channel is one where statistics are by channel. */
static void
do_channels(void *context, npy_intp start, npy_intp stop)
{
    const Shared *shared = context;
    Planes own = *shared->work;
    const ptrdiff_t together = own.by_channel ? 1 : own.channels / own.groups;
    own.first = start * together;
    own.stop = stop * together;
    shared->loop(&own);
}

static int
run(const PlanesLoop *loop, int number, Planes *work)
{
    const npy_intp pieces = work->by_channel ? work->channels : work->groups;
    const npy_intp each = work->samples * work->channels / pieces * work->length;
    work->scratch = PyMem_Malloc(2 * (work->statistics + work->channels) * sizeof(double));
    if (work->scratch == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS;
    in_threads(window_pool, do_channels, &(Shared){work, loop[number]}, pieces, THREAD_GRAIN / (each + 1) + 1);
    Py_END_ALLOW_THREADS;
    PyMem_Free(work->scratch);
    return 0;
}

/* planes_norm(input, weight, bias, grouped, scaled, eps): the result, and mean, one over deviation and variance. */
PyObject *
windows_planes_norm(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Planes work;
    if (!has_count(count, 6, "planes_norm")) {
        return NULL;
    }
    const double epsilon = PyFloat_AsDouble(arguments[5]);
    const int number = type_number(arguments[0]);
    NOT_TAKEN(!PyErr_Occurred() && is_input(arguments[0]) && !is_channels_last(arguments[0])
              && read_layout(&work, arguments[0], arguments[3], arguments[4])
              && read_parameter(arguments[1], number, work.channels, &work.weight)
              && read_parameter(arguments[2], number, work.channels, &work.bias));
    work.epsilon = epsilon;
    const int type = PyArray_TYPE(ARRAY(arguments[0]));
    npy_intp dims[3] = {1, work.statistics, 1};
    PyObject *input = by_rows(arguments[0]), *found = NULL;
    PyObject *result = PyArray_EMPTY(PyArray_NDIM(ARRAY(arguments[0])), PyArray_DIMS(ARRAY(arguments[0])), type, 0);
    PyObject *mean = PyArray_EMPTY(3, dims, type, 0), *inverse = PyArray_EMPTY(3, dims, type, 0);
    PyObject *variance = PyArray_EMPTY(3, dims, type, 0);
    if (input != NULL && result != NULL && mean != NULL && inverse != NULL && variance != NULL) {
        work.input = PyArray_DATA(ARRAY(input));
        work.result = PyArray_DATA(ARRAY(result));
        work.mean = PyArray_DATA(ARRAY(mean));
        work.inverse = PyArray_DATA(ARRAY(inverse));
        work.variance = PyArray_DATA(ARRAY(variance));
        if (run(window_loops->planes_norm, number, &work) == 0) {
            found = PyTuple_Pack(4, result, mean, inverse, variance);
        }
    }
    Py_XDECREF(input);
    Py_XDECREF(result);
    Py_XDECREF(mean);
    Py_XDECREF(inverse);
    Py_XDECREF(variance);
    return found;
}

/* A new array if it is wanted; None if not. */
static PyObject *
wanted_array(PyObject *flag, int ndim, npy_intp *dims, int type)
{
    return flag == Py_True ? PyArray_EMPTY(ndim, dims, type, 0) : Py_NewRef(Py_None);
}

static void *
data_of(PyObject *array)
{
    return array == Py_None ? NULL : PyArray_DATA(ARRAY(array));
}

/* planes_norm_gradients(grad, input, weight, mean, inverse, grouped, scaled, needs): for input, weight and bias those
 * that `needs` says, else None; those of weight and bias are vectors. */
PyObject *
windows_planes_norm_gradients(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Planes work;
    if (!has_count(count, 8, "planes_norm_gradients")) {
        return NULL;
    }
    PyObject *needs = arguments[7], *array = arguments[1];
    const int number = type_number(array);
    const void *mean, *inverse;
    NOT_TAKEN(PyTuple_Check(needs) && PyTuple_GET_SIZE(needs) == 3 && is_input(array) && type_number(arguments[0]) == number
              && PyArray_NDIM(ARRAY(arguments[0])) == PyArray_NDIM(ARRAY(array))
              && PyArray_CompareLists(PyArray_DIMS(ARRAY(arguments[0])), PyArray_DIMS(ARRAY(array)),
                                      PyArray_NDIM(ARRAY(array)))
              && read_layout(&work, array, arguments[5], arguments[6])
              && read_parameter(arguments[2], number, work.channels, &work.weight)
              && read_parameter(arguments[3], number, work.statistics, &mean)
              && read_parameter(arguments[4], number, work.statistics, &inverse) && mean != NULL && inverse != NULL);
    const int type = PyArray_TYPE(ARRAY(array));
    npy_intp channels = work.channels;
    PyObject *gradient = by_rows(arguments[0]), *input = by_rows(array), *found = NULL;
    PyObject *of_input = wanted_array(PyTuple_GET_ITEM(needs, 0), PyArray_NDIM(ARRAY(array)), PyArray_DIMS(ARRAY(array)),
                                      type);
    PyObject *of_weight = wanted_array(PyTuple_GET_ITEM(needs, 1), 1, &channels, type);
    PyObject *of_bias = wanted_array(PyTuple_GET_ITEM(needs, 2), 1, &channels, type);
    if (gradient != NULL && input != NULL && of_input != NULL && of_weight != NULL && of_bias != NULL) {
        work.input = PyArray_DATA(ARRAY(input));
        work.gradient = PyArray_DATA(ARRAY(gradient));
        work.mean = (void *)mean;
        work.inverse = (void *)inverse;
        work.result = data_of(of_input);
        work.of_weight = data_of(of_weight);
        work.of_bias = data_of(of_bias);
        if (run(window_loops->planes_norm_gradients, number, &work) == 0) {
            found = PyTuple_Pack(3, of_input, of_weight, of_bias);
        }
    }
    Py_XDECREF(gradient);
    Py_XDECREF(input);
    Py_XDECREF(of_input);
    Py_XDECREF(of_weight);
    Py_XDECREF(of_bias);
    return found;
}
