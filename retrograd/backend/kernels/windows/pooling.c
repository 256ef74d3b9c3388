/* pooling and its gradients: the checks, and the windows of each axis. */
#include "module.h"

/* What a call is about: an array whose last `spatial` dimensions are pooled. */
typedef struct {
    int number; /* of the type */
    int spatial;
    Pooling work;
} Call;

static void
free_windows(Pooling *work)
{
    for (int axis = 0; axis < AXES; axis++) {
        PyMem_Free(work->starts[axis]); /* the other tables lie behind it */
    }
}

/* Tables for the windows of an axis. 0, or -1 with an error set. */
static int
allocate_windows(Pooling *work, int axis)
{
    const ptrdiff_t count = work->count[axis];
    work->starts[axis] = PyMem_Calloc(3 * count + 1, sizeof(ptrdiff_t));
    if (work->starts[axis] == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    work->taps[axis] = work->starts[axis] + count;
    work->shares[axis] = work->taps[axis] + count;
    return 0;
}

/* Whether an array is one that is taken, with `spatial` dimensions after one or two others; its sizes. */
static int
read_array(Call *call, PyObject *array, int spatial)
{
    *call = (Call){.number = type_number(array), .spatial = spatial, .work.planes = 1};
    if (call->number < 0 || spatial < 1 || spatial > AXES) {
        return 0;
    }
    const int lead = PyArray_NDIM(ARRAY(array)) - spatial;
    if (lead < 1 || lead > 2 || PyArray_SIZE(ARRAY(array)) == 0) {
        return 0;
    }
    for (int axis = 0; axis < lead; axis++) {
        call->work.planes *= PyArray_DIM(ARRAY(array), axis);
    }
    ptrdiff_t elements = 1;
    for (int axis = 0; axis < AXES; axis++) {
        const int own = axis - (AXES - spatial);
        call->work.size[axis] = own < 0 ? 1 : PyArray_DIM(ARRAY(array), lead + own);
        call->work.count[axis] = call->work.dilation[axis] = 1;
        elements = call->work.size[axis] < LARGEST_SIZE ? elements * call->work.size[axis] : LARGEST_SIZE;
        if (elements >= LARGEST_SIZE) { /* places inside of a block are kept in 32 bits */
            return 0;
        }
    }
    return 1;
}

/* ---- windows ------------------------------------------------------------------------------------------------------ */

typedef struct {
    ptrdiff_t kernel[AXES], stride[AXES], padding[AXES], dilation[AXES];
    int ceil_mode, include_padding;
} Options;

/* Reads the options of each own axis; those before are of one element. */
static int
read_options(Options *options, int spatial, PyObject *kernel, PyObject *stride, PyObject *padding, PyObject *dilation)
{
    const int first = AXES - spatial;
    for (int axis = 0; axis < first; axis++) {
        options->kernel[axis] = options->stride[axis] = options->dilation[axis] = 1;
        options->padding[axis] = 0;
    }
    for (int axis = first; dilation == NULL && axis < AXES; axis++) {
        options->dilation[axis] = 1;
    }
    return read_sizes(kernel, spatial, 1, options->kernel + first) && read_sizes(stride, spatial, 1, options->stride + first)
           && read_sizes(padding, spatial, 0, options->padding + first)
           && (dilation == NULL || read_sizes(dilation, spatial, 1, options->dilation + first));
}

/* How many windows an axis has, as `pooled_size` in backend/neutral/pooling.py says; below one if there is no room. */
static ptrdiff_t
pooled_size(const Options *options, int axis, ptrdiff_t size)
{
    const ptrdiff_t stride = options->stride[axis], padding = options->padding[axis];
    const ptrdiff_t room = size + 2 * padding - options->dilation[axis] * (options->kernel[axis] - 1) - 1;
    if (room < 0) {
        return 0;
    }
    ptrdiff_t count = (room + (options->ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (options->ceil_mode && (count - 1) * stride >= size + padding) {
        count--;
    }
    return count;
}

/* The windows of one axis; 0 if one of them has no element inside the input. */
static int
fixed_windows(Pooling *work, const Options *options, int axis)
{
    const ptrdiff_t size = work->size[axis], kernel = options->kernel[axis], gap = options->dilation[axis];
    const ptrdiff_t padding = options->padding[axis];
    for (ptrdiff_t window = 0; window < work->count[axis]; window++) {
        const ptrdiff_t start = window * options->stride[axis] - padding;
        const ptrdiff_t skipped = start < 0 ? (gap - 1 - start) / gap : 0;
        const ptrdiff_t inside = start < size ? (size - start + gap - 1) / gap : 0;
        const ptrdiff_t stop = kernel < inside ? kernel : inside;
        const ptrdiff_t end = start + kernel < size + padding ? start + kernel : size + padding;
        if (stop <= skipped) {
            return 0;
        }
        work->starts[axis][window] = start + skipped * gap;
        work->taps[axis][window] = stop - skipped;
        if (axis == AXES - 1 && stop - skipped == kernel) {
            work->whole_first = work->stride ? work->whole_first : window;
            work->whole_stop = window + 1;
            work->stride = options->stride[axis];
        }
        work->shares[axis][window] = options->include_padding ? end - start : stop - skipped;
    }
    return 1;
}

/* Tables for all axes; 1, or 0 if the windows are none that are taken, maybe with an error set. */
static int
make_fixed_windows(Call *call, const Options *options)
{
    for (int axis = 0; axis < AXES; axis++) {
        Pooling *work = &call->work;
        if (options->dilation[axis] * (options->kernel[axis] - 1) >= LARGEST_SIZE) {
            return 0;
        }
        work->count[axis] = pooled_size(options, axis, work->size[axis]);
        work->dilation[axis] = options->dilation[axis];
        if (work->count[axis] < 1 || work->count[axis] >= LARGEST_SIZE || allocate_windows(work, axis) < 0
            || !fixed_windows(work, options, axis)) {
            return 0;
        }
    }
    return 1;
}

static int
make_adaptive_windows(Call *call)
{
    for (int axis = 0; axis < AXES; axis++) {
        Pooling *work = &call->work;
        const ptrdiff_t size = work->size[axis], count = work->count[axis];
        if (allocate_windows(work, axis) < 0) {
            return 0;
        }
        for (ptrdiff_t window = 0; window < count; window++) {
            const ptrdiff_t start = window * size / count, stop = ((window + 1) * size + count - 1) / count;
            work->starts[axis][window] = start;
            work->taps[axis][window] = work->shares[axis][window] = stop - start;
        }
    }
    return 1;
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

/* A new array with the leading dimensions of `array` and `spatial` sizes after them. */
static PyObject *
new_array(const Call *call, PyObject *array, const ptrdiff_t *sizes, int type)
{
    npy_intp dims[2 + AXES];
    const int count = PyArray_NDIM(ARRAY(array)), lead = count - call->spatial;
    for (int axis = 0; axis < count; axis++) {
        dims[axis] = axis < lead ? PyArray_DIM(ARRAY(array), axis) : sizes[AXES - count + axis];
    }
    return PyArray_EMPTY(count, dims, type, 0);
}

typedef struct {
    const Pooling *work;
    PoolingLoop loop;
    ptrdiff_t input, result; /* bytes of a plane */
    int failed;
} Shared;

static ptrdiff_t
product(const ptrdiff_t *sizes)
{
    return sizes[0] * sizes[1] * sizes[2];
}

static void
do_planes(void *context, npy_intp start, npy_intp stop)
{
    Shared *shared = context;
    Pooling own = *shared->work;
    own.planes = stop - start;
    own.input = (const char *)own.input + start * shared->input;
    own.result = (char *)own.result + start * shared->result;
    own.places = own.places == NULL ? NULL : own.places + start * product(own.count);
    own.scratch = calloc(own.size[AXES - 1], sizeof(double));
    if (own.scratch == NULL) {
        __atomic_store_n(&shared->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    shared->loop(&own);
    free(own.scratch);
}

/* Runs a loop without the interpreter's lock, from planes of one size to planes of another; each thread does some. 0, or -1
 * with an error set. */
static int
run(const PoolingLoop *loop, Call *call, const ptrdiff_t *from, const ptrdiff_t *to)
{
    const ptrdiff_t bytes = call->number == 0 ? sizeof(float) : sizeof(double);
    Shared shared = {&call->work, loop[call->number], product(from) * bytes, product(to) * bytes, 0};
    const npy_intp grain = THREAD_GRAIN / (product(call->work.size) + 1) + 1;
    Py_BEGIN_ALLOW_THREADS;
    in_threads(window_pool, do_planes, &shared, call->work.planes, grain);
    Py_END_ALLOW_THREADS;
    if (shared.failed) {
        PyErr_NoMemory();
    }
    return shared.failed ? -1 : 0;
}

/* Pools an input with windows that are made; with the places where `with_places`. */
static PyObject *
pooled(const PoolingLoop *loop, Call *call, PyObject *input, int with_places)
{
    PyObject *by_row = by_rows(input), *found = NULL;
    PyObject *result = new_array(call, input, call->work.count, PyArray_TYPE(ARRAY(input)));
    PyObject *places = with_places ? new_array(call, input, call->work.count, NPY_INT64) : Py_NewRef(Py_None);
    if (by_row != NULL && result != NULL && places != NULL) {
        call->work.input = PyArray_DATA(ARRAY(by_row));
        call->work.result = PyArray_DATA(ARRAY(result));
        call->work.places = with_places ? PyArray_DATA(ARRAY(places)) : NULL;
        if (run(loop, call, call->work.size, call->work.count) == 0) {
            found = with_places ? PyTuple_Pack(2, result, places) : Py_NewRef(result);
        }
    }
    Py_XDECREF(by_row);
    Py_XDECREF(result);
    Py_XDECREF(places);
    return found;
}

/* Whether an array has the leading dimensions of `input` and the windows' counts after them. */
static int
has_counts(const Call *call, PyObject *array, PyObject *input)
{
    const int count = PyArray_NDIM(ARRAY(input)), lead = count - call->spatial;
    if (PyArray_NDIM(ARRAY(array)) != count) {
        return 0;
    }
    for (int axis = 0; axis < count; axis++) {
        const ptrdiff_t wanted = axis < lead ? PyArray_DIM(ARRAY(input), axis) : call->work.count[AXES - count + axis];
        if (PyArray_DIM(ARRAY(array), axis) != wanted) {
            return 0;
        }
    }
    return 1;
}

/* The gradient of an average for an input of a known shape. */
static PyObject *
spread(Call *call, PyObject *gradient, PyObject *input)
{
    PyObject *by_row = by_rows(gradient), *result = NULL;
    if (by_row != NULL) {
        result = new_array(call, input, call->work.size, PyArray_TYPE(ARRAY(gradient)));
    }
    if (result != NULL) {
        call->work.input = PyArray_DATA(ARRAY(by_row));
        call->work.result = PyArray_DATA(ARRAY(result));
        if (run(window_loops->avg_pool_gradient, call, call->work.count, call->work.size) < 0) {
            Py_CLEAR(result);
        }
    }
    Py_XDECREF(by_row);
    return result;
}

/* None for what is not taken, else what was found; the tables are freed. */
static PyObject *
finish(Call *call, PyObject *found)
{
    free_windows(&call->work);
    NOT_TAKEN(found != NULL);
    return found;
}

/* ---- functions of Python ---------------------------------------------------------------------------------------- */

static int
length_of(PyObject *object)
{
    return PyTuple_Check(object) ? (int)PyTuple_GET_SIZE(object) : 0;
}

/* max_pool(input, kernel, stride, padding, dilation, ceil_mode) */
PyObject *
windows_max_pool(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call;
    Options options = {.ceil_mode = count > 5 && arguments[5] == Py_True};
    if (!has_count(count, 6, "max_pool")) {
        return NULL;
    }
    const int spatial = length_of(arguments[1]);
    NOT_TAKEN(read_array(&call, arguments[0], spatial) && !is_channels_last(arguments[0])
              && read_options(&options, spatial, arguments[1], arguments[2], arguments[3], arguments[4]));
    const int made = make_fixed_windows(&call, &options);
    return finish(&call, made ? pooled(window_loops->max_pool, &call, arguments[0], 1) : NULL);
}

/* Reads the counts of an adaptive pooling's windows. */
static int
read_counts(Call *call, PyObject *array, PyObject *sizes)
{
    const int spatial = length_of(sizes);
    return read_array(call, array, spatial) && !is_channels_last(array)
           && read_sizes(sizes, spatial, 1, call->work.count + AXES - spatial);
}

/* adaptive_max_pool(input, output_size) */
PyObject *
windows_adaptive_max_pool(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call;
    if (!has_count(count, 2, "adaptive_max_pool")) {
        return NULL;
    }
    NOT_TAKEN(read_counts(&call, arguments[0], arguments[1]));
    const int made = make_adaptive_windows(&call);
    return finish(&call, made ? pooled(window_loops->max_pool, &call, arguments[0], 1) : NULL);
}

/* adaptive_avg_pool(input, output_size) */
PyObject *
windows_adaptive_avg_pool(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call;
    if (!has_count(count, 2, "adaptive_avg_pool")) {
        return NULL;
    }
    NOT_TAKEN(read_counts(&call, arguments[0], arguments[1]));
    const int made = make_adaptive_windows(&call);
    return finish(&call, made ? pooled(window_loops->avg_pool, &call, arguments[0], 0) : NULL);
}

/* Reads what avg_pool and its gradient have in common, from `kernel` on. */
static int
read_average(Call *call, Options *options, PyObject *array, PyObject *const *arguments)
{
    const int spatial = length_of(arguments[0]);
    options->ceil_mode = arguments[3] == Py_True;
    options->include_padding = arguments[4] == Py_True;
    if (!read_array(call, array, spatial)
        || !read_options(options, spatial, arguments[0], arguments[1], arguments[2], NULL)) {
        return 0;
    }
    return arguments[5] == Py_None || (read_size(arguments[5], 1, &call->work.divisor));
}

/* avg_pool(input, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override) */
PyObject *
windows_avg_pool(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call;
    Options options = {0};
    if (!has_count(count, 7, "avg_pool")) {
        return NULL;
    }
    NOT_TAKEN(read_average(&call, &options, arguments[0], arguments + 1) && !is_channels_last(arguments[0]));
    const int made = make_fixed_windows(&call, &options);
    return finish(&call, made ? pooled(window_loops->avg_pool, &call, arguments[0], 0) : NULL);
}

/* avg_pool_gradient(gradient, input, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override) */
PyObject *
windows_avg_pool_gradient(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call;
    Options options = {0};
    if (!has_count(count, 8, "avg_pool_gradient")) {
        return NULL;
    }
    NOT_TAKEN(read_average(&call, &options, arguments[1], arguments + 2) && type_number(arguments[0]) == call.number);
    const int made = make_fixed_windows(&call, &options) && has_counts(&call, arguments[0], arguments[1]);
    return finish(&call, made ? spread(&call, arguments[0], arguments[1]) : NULL);
}

static PyObject *
adaptive_gradient(PyObject *const *arguments, Py_ssize_t count, int spatial, const char *name)
{
    Call call;
    if (!has_count(count, 2, name)) {
        return NULL;
    }
    NOT_TAKEN(read_array(&call, arguments[1], spatial) && type_number(arguments[0]) == call.number
              && PyArray_NDIM(ARRAY(arguments[0])) == PyArray_NDIM(ARRAY(arguments[1]))
              && PyArray_SIZE(ARRAY(arguments[0])) > 0);
    for (int own = 0; own < spatial; own++) {
        const int axis = PyArray_NDIM(ARRAY(arguments[0])) - spatial + own;
        call.work.count[AXES - spatial + own] = PyArray_DIM(ARRAY(arguments[0]), axis);
    }
    NOT_TAKEN(has_counts(&call, arguments[0], arguments[1]));
    return finish(&call, make_adaptive_windows(&call) ? spread(&call, arguments[0], arguments[1]) : NULL);
}

/* adaptive_avg_pool2d_gradient(gradient, input) */
PyObject *
windows_adaptive_avg_pool2d_gradient(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return adaptive_gradient(arguments, count, 2, "adaptive_avg_pool2d_gradient");
}

/* adaptive_avg_pool3d_gradient(gradient, input) */
PyObject *
windows_adaptive_avg_pool3d_gradient(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return adaptive_gradient(arguments, count, 3, "adaptive_avg_pool3d_gradient");
}

/* ---- sums into places ------------------------------------------------------------------------------------------- */

/* Whether all places lie inside of a block of so many elements. */
static int
are_inside(const int64_t *places, npy_intp count, ptrdiff_t elements)
{
    int outside = 0;
    for (npy_intp at = 0; at < count; at++) {
        outside |= (uint64_t)places[at] >= (uint64_t)elements;
    }
    return !outside;
}

/* `gradient` summed into zeros, at the `places` of each block of `sizes`: (lead..., *sizes). */
static PyObject *
scattered(PyObject *gradient, PyObject *places, int spatial, const ptrdiff_t *sizes)
{
    Call call;
    NOT_TAKEN(read_array(&call, gradient, spatial) && PyArray_CheckExact(places) && PyArray_TYPE(ARRAY(places)) == NPY_INT64
              && PyArray_ISNOTSWAPPED(ARRAY(places)) && PyArray_NDIM(ARRAY(places)) == PyArray_NDIM(ARRAY(gradient))
              && PyArray_CompareLists(PyArray_DIMS(ARRAY(places)), PyArray_DIMS(ARRAY(gradient)),
                                      PyArray_NDIM(ARRAY(gradient))));
    ptrdiff_t elements = 1;
    for (int axis = 0; axis < AXES; axis++) {
        const int own = axis - (AXES - spatial);
        call.work.count[axis] = call.work.size[axis];
        call.work.size[axis] = own < 0 ? 1 : sizes[own];
        NOT_TAKEN(elements < LARGEST_SIZE); /* of a plane: so the product does not overflow */
        elements *= call.work.size[axis];
    }
    PyObject *by_row = by_rows(gradient), *where = by_rows(places), *result = NULL;
    int inside = 0;
    if (by_row != NULL && where != NULL) {
        inside = are_inside(PyArray_DATA(ARRAY(where)), PyArray_SIZE(ARRAY(where)), elements);
        result = inside ? new_array(&call, gradient, call.work.size, PyArray_TYPE(ARRAY(gradient))) : NULL;
    }
    if (result != NULL) {
        call.work.input = PyArray_DATA(ARRAY(by_row));
        call.work.places = PyArray_DATA(ARRAY(where));
        call.work.result = PyArray_DATA(ARRAY(result));
        if (run(window_loops->max_pool_gradient, &call, call.work.count, call.work.size) < 0) {
            Py_CLEAR(result);
        }
    }
    Py_XDECREF(by_row);
    Py_XDECREF(where);
    return finish(&call, result);
}

/* scatter_places(gradient, places, spatial) */
PyObject *
windows_scatter_places(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    ptrdiff_t sizes[AXES];
    if (!has_count(count, 3, "scatter_places")) {
        return NULL;
    }
    const int spatial = length_of(arguments[2]);
    NOT_TAKEN(spatial >= 1 && spatial <= AXES && read_sizes(arguments[2], spatial, 1, sizes));
    return scattered(arguments[0], arguments[1], spatial, sizes);
}

static PyObject *
max_gradient(PyObject *const *arguments, Py_ssize_t count, int spatial, const char *name)
{
    ptrdiff_t sizes[AXES];
    if (!has_count(count, 3, name)) {
        return NULL;
    }
    NOT_TAKEN(PyArray_CheckExact(arguments[1]) && PyArray_CheckExact(arguments[0])
              && PyArray_NDIM(ARRAY(arguments[1])) == PyArray_NDIM(ARRAY(arguments[0]))
              && PyArray_NDIM(ARRAY(arguments[1])) > spatial);
    for (int own = 0; own < spatial; own++) {
        sizes[own] = PyArray_DIM(ARRAY(arguments[1]), PyArray_NDIM(ARRAY(arguments[1])) - spatial + own);
        NOT_TAKEN(sizes[own] >= 1 && sizes[own] < LARGEST_SIZE);
    }
    return scattered(arguments[0], arguments[2], spatial, sizes);
}

/* max_pool2d_gradient(gradient, input, places) */
PyObject *
windows_max_pool2d_gradient(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return max_gradient(arguments, count, 2, "max_pool2d_gradient");
}

/* max_pool3d_gradient(gradient, input, places) */
PyObject *
windows_max_pool3d_gradient(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return max_gradient(arguments, count, 3, "max_pool3d_gradient");
}
