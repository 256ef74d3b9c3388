/* convolution and its gradients: the checks, and the plan of what the loops do. */
#include "module.h"

#include "axes.h"

typedef struct {
    int number; /* of the type */
    int spatial;
    ptrdiff_t samples, groups, channels, outputs; /* channels and outputs of a group */
    Dimension dimensions[AXES];
} Shape;

/* Reads the options of a convolution of `spatial` dimensions; they are the last `spatial` of the three. */
static int
read_options(Shape *shape, PyObject *stride, PyObject *padding, PyObject *dilation, PyObject *groups)
{
    ptrdiff_t steps[AXES], pads[AXES], gaps[AXES];
    if (!read_sizes(stride, shape->spatial, 1, steps) || !read_sizes(padding, shape->spatial, 0, pads)
        || !read_sizes(dilation, shape->spatial, 1, gaps) || !read_size(groups, 1, &shape->groups)) {
        return 0;
    }
    for (int axis = 0; axis < AXES; axis++) {
        Dimension *dimension = &shape->dimensions[axis];
        const int own = axis - (AXES - shape->spatial);
        *dimension = (Dimension){1, 1, 1, own < 0 ? 1 : steps[own], own < 0 ? 0 : pads[own], own < 0 ? 1 : gaps[own]};
    }
    return 1;
}

/* Whether the shapes of input (N, groups * C, ...), weight (groups * O, C, ...) and result (N, groups * O, ...) fit each
 * other and all have elements. The result may have fewer windows than there is room for. */
static int
read_shapes(Shape *shape, const ptrdiff_t *input, const ptrdiff_t *weight, const ptrdiff_t *result)
{
    for (int axis = 0; axis < 2 + shape->spatial; axis++) {
        if (input[axis] < 1 || weight[axis] < 1 || result[axis] < 1 || input[axis] >= LARGEST_SIZE
            || weight[axis] >= LARGEST_SIZE || result[axis] >= LARGEST_SIZE) {
            return 0;
        }
    }
    shape->samples = input[0];
    shape->channels = weight[1];
    shape->outputs = weight[0] / shape->groups;
    if (result[0] != input[0] || weight[0] % shape->groups != 0 || result[1] != weight[0]
        || input[1] % shape->groups != 0 || input[1] / shape->groups != weight[1]) {
        return 0;
    }
    for (int own = 0; own < shape->spatial; own++) {
        Dimension *dimension = &shape->dimensions[own + AXES - shape->spatial];
        dimension->size = input[2 + own];
        dimension->kernel = weight[2 + own];
        dimension->count = result[2 + own];
        if (dimension->dilation * (dimension->kernel - 1) >= LARGEST_SIZE || dimension->count > window_count(dimension)) {
            return 0;
        }
    }
    return 1;
}

/* A correlation between source and result, but for its axes. */
static Correlation
planned(const Shape *shape, const void *weight)
{
    const Dimension *d = shape->dimensions;
    const ptrdiff_t kernel = d[0].kernel * d[1].kernel * d[2].kernel;
    return (Correlation){
        .samples = shape->samples,
        .groups = shape->groups,
        .channels = shape->channels,
        .outputs = shape->outputs,
        .source_channels = shape->groups * shape->channels,
        .result_channels = shape->groups * shape->outputs,
        .weight = (void *)weight,
        .weight_group = shape->outputs * shape->channels * kernel,
        .weight_output = shape->channels * kernel,
        .weight_channel = kernel,
        .weight_tap = {d[1].kernel * d[2].kernel, d[2].kernel, 1},
        .kernel = kernel,
    };
}

/* ---- in threads ------------------------------------------------------------------------------------------------- */

#define MANY_PRODUCTS (1 << 20) /* are worth a thread */

typedef struct {
    const Correlation *work;
    Plan plan;
    CorrelationLoop loop;
    int failed;
} Shared;

static void
do_items(void *context, npy_intp start, npy_intp stop)
{
    Shared *shared = context;
    if (shared->loop(shared->work, &shared->plan, start, stop) < 0) {
        __atomic_store_n(&shared->failed, 1, __ATOMIC_RELAXED);
    }
}

/* Plans a correlation and does all items, each thread some of them; 0, or -1 without memory. */
static int
run_items(const Correlation *work, PlanMaker make, CorrelationLoop loop, CorrelationEnd end)
{
    Shared shared = {.work = work, .loop = loop};
    int done = make(work, &shared.plan);
    if (done == 0) {
        double products = (double)work->samples * (double)work->groups * (double)work->outputs * (double)work->channels;
        for (int axis = 0; axis < AXES; axis++) {
            products *= (double)work->axes[axis].count * (double)work->axes[axis].taps;
        }
        const double each = products / (double)shared.plan.items;
        in_threads(window_pool, do_items, &shared, shared.plan.items, (npy_intp)(MANY_PRODUCTS / (each + 1)) + 1);
        done = shared.failed ? -1 : end != NULL ? end(work, &shared.plan) : 0;
    }
    free(shared.plan.scratch);
    return done;
}

static int
correlate(const Shape *shape, const Correlation *work)
{
    const int number = shape->number;
    return run_items(work, window_loops->plan_correlation[number], window_loops->correlate[number], NULL);
}

/* ---- planes by windows of their own, two columns apart ------------------------------------------------------------- */

static int
is_stepped(const Shape *shape)
{
    const Dimension *d = shape->dimensions;
    return window_loops->stepped[shape->number] != NULL && shape->spatial == 2 && shape->groups > 1
           && shape->channels == 1 && shape->outputs == 1 && d[2].stride == 2 && d[1].kernel <= MOST_STEPPED
           && d[2].kernel <= MOST_STEPPED;
}

typedef struct {
    Stepped work;
    SteppedLoop loop;
} SteppedShare;

static void
do_planes(void *context, npy_intp start, npy_intp stop)
{
    const SteppedShare *share = context;
    share->loop(&share->work, start, stop);
}

/* `items` are the planes, or the channels of a weight; what is not given in `work` follows from the shape. */
static int
run_stepped(const Shape *shape, Stepped work, SteppedLoop loop, ptrdiff_t items)
{
    SteppedShare share = {work, loop};
    const Dimension *h = &shape->dimensions[1], *w = &shape->dimensions[2];
    share.work.height = *h;
    share.work.width = *w;
    share.work.samples = shape->samples;
    share.work.channels = shape->groups;
    const double planes = (double)shape->samples * (double)shape->groups;
    const double each = planes / (double)items * (double)h->count * (double)w->count * (double)(h->kernel * w->kernel);
    in_threads(window_pool, do_planes, &share, items, (npy_intp)(MANY_PRODUCTS / (each + 1)) + 1);
    return 0;
}

/* ---- whole calls ----------------------------------------------------------------------------------------------- */

static int
run_forward(const Shape *shape, const void *input, const void *weight, const void *bias, void *result)
{
    if (is_stepped(shape)) {
        return run_stepped(shape, (Stepped){.input = input, .weight = weight, .bias = bias, .result = result},
                           window_loops->stepped[shape->number], shape->samples * shape->groups);
    }
    Correlation work = planned(shape, weight);
    work.source = input;
    work.bias = bias;
    work.result = result;
    int done = 0;
    for (int axis = 0; axis < AXES; axis++) {
        done |= forward_axis(&shape->dimensions[axis], &work.axes[axis]);
    }
    done = done == 0 ? correlate(shape, &work) : done;
    for (int axis = 0; axis < AXES; axis++) {
        free_axis(&work.axes[axis]);
    }
    return done;
}

static int
run_weight_gradient(const Shape *shape, const void *gradient, const void *input, void *result)
{
    if (is_stepped(shape)) {
        return run_stepped(shape, (Stepped){.input = input, .gradient = gradient, .result = result},
                           window_loops->stepped_weight[shape->number], shape->groups);
    }
    Correlation work = planned(shape, result);
    work.source = input;
    work.result = (void *)gradient;
    int done = 0;
    for (int axis = 0; axis < AXES; axis++) {
        done |= forward_axis(&shape->dimensions[axis], &work.axes[axis]);
    }
    if (done == 0) {
        const int number = shape->number;
        done = run_items(&work, window_loops->plan_weight[number], window_loops->correlate_weight[number],
                         window_loops->end_weight[number]);
    }
    for (int axis = 0; axis < AXES; axis++) {
        free_axis(&work.axes[axis]);
    }
    return done;
}

/* One correlation for each phase of the strides; `result` starts as zeros where phases are left out. */
static int
run_input_gradient(const Shape *shape, const void *gradient, const void *weight, const void *bias, void *result)
{
    if (is_stepped(shape)) {
        return run_stepped(shape, (Stepped){.gradient = gradient, .weight = weight, .bias = bias, .result = result},
                           window_loops->stepped_back[shape->number], shape->samples * shape->groups);
    }
    Correlation work = planned(shape, weight);
    const Dimension *d = shape->dimensions;
    work.source = gradient;
    work.bias = bias;
    work.result = result;
    work.channels = shape->outputs;
    work.outputs = shape->channels;
    work.source_channels = shape->groups * work.channels;
    work.result_channels = shape->groups * work.outputs;
    work.weight_output = d[0].kernel * d[1].kernel * d[2].kernel;
    work.weight_channel = shape->channels * work.weight_output;
    int done = 0;
    for (ptrdiff_t phase = 0; done == 0 && phase < d[0].stride * d[1].stride * d[2].stride; phase++) {
        const ptrdiff_t phases[AXES] = {phase / d[2].stride / d[1].stride, phase / d[2].stride % d[1].stride,
                                        phase % d[2].stride};
        int reached = 1;
        for (int axis = 0; axis < AXES; axis++) {
            done |= backward_axis(&d[axis], phases[axis], &work.axes[axis]);
            reached = reached && work.axes[axis].taps > 0 && work.axes[axis].count > 0;
        }
        if (done == 0 && reached) {
            done = correlate(shape, &work);
        }
        for (int axis = 0; axis < AXES; axis++) {
            free_axis(&work.axes[axis]);
        }
    }
    return done;
}

/* Whether some elements of the input meet no tap of any window. */
static int
leaves_elements_out(const Shape *shape)
{
    for (int axis = 0; axis < AXES; axis++) {
        const Dimension *dimension = &shape->dimensions[axis];
        for (ptrdiff_t phase = 0; phase < dimension->stride; phase++) {
            ptrdiff_t tap = 0;
            while (tap < dimension->kernel && tap * dimension->dilation % dimension->stride != phase) {
                tap++;
            }
            if (tap == dimension->kernel) {
                return 1;
            }
        }
    }
    return 0;
}

/* ---- functions of Python ---------------------------------------------------------------------------------------- */

typedef int (*Run)(const Shape *shape, const void *first, const void *second, const void *bias, void *result);

/* Runs on the elements of two checked arrays, without the interpreter's lock; a new array of `dims`. */
static PyObject *
run_on(Run run, const Shape *shape, PyObject *first, PyObject *second, const void *bias, const ptrdiff_t *dims,
       int zeros)
{
    npy_intp sizes[2 + AXES];
    for (int axis = 0; axis < 2 + shape->spatial; axis++) {
        sizes[axis] = dims[axis];
    }
    const int type = PyArray_TYPE(ARRAY(first));
    PyObject *one = by_rows(first), *other = by_rows(second), *result = NULL;
    if (one != NULL && other != NULL) {
        result = zeros ? PyArray_ZEROS(2 + shape->spatial, sizes, type, 0)
                       : PyArray_EMPTY(2 + shape->spatial, sizes, type, 0);
    }
    if (result != NULL) {
        int done;
        Py_BEGIN_ALLOW_THREADS;
        done = run(shape, PyArray_DATA(ARRAY(one)), PyArray_DATA(ARRAY(other)), bias, PyArray_DATA(ARRAY(result)));
        Py_END_ALLOW_THREADS;
        if (done < 0) {
            Py_CLEAR(result);
            PyErr_NoMemory();
        }
    }
    Py_XDECREF(one);
    Py_XDECREF(other);
    return result;
}

static int
weight_only(const Shape *shape, const void *gradient, const void *input, const void *bias, void *result)
{
    (void)bias;
    return run_weight_gradient(shape, gradient, input, result);
}

/* Whether two arrays are of one type that is taken, and both of one to three spatial dimensions. */
static int
read_arrays(Shape *shape, PyObject *first, PyObject *second)
{
    shape->number = type_number(first);
    if (shape->number < 0 || type_number(second) != shape->number
        || PyArray_NDIM(ARRAY(first)) != PyArray_NDIM(ARRAY(second))) {
        return 0;
    }
    shape->spatial = PyArray_NDIM(ARRAY(first)) - 2;
    return shape->spatial >= 1 && shape->spatial <= AXES;
}

/* None, or an array of one element for each of the outputs; its elements. */
static int
read_bias(const Shape *shape, PyObject *object, ptrdiff_t outputs, const void **data)
{
    *data = NULL;
    if (object == Py_None) {
        return 1;
    }
    if (type_number(object) != shape->number || PyArray_NDIM(ARRAY(object)) != 1 || PyArray_SIZE(ARRAY(object)) != outputs
        || !PyArray_IS_C_CONTIGUOUS(ARRAY(object)) || !PyArray_ISALIGNED(ARRAY(object))) {
        return 0;
    }
    *data = PyArray_DATA(ARRAY(object));
    return 1;
}

/* The transposed convolution of an input of shape (N, O, ...) by a weight (O, C, ...). */
static PyObject *
transposed(Shape *shape, PyObject *const *arguments)
{
    const ptrdiff_t *input = PyArray_DIMS(ARRAY(arguments[0])), *weight = PyArray_DIMS(ARRAY(arguments[1]));
    ptrdiff_t result[2 + AXES] = {input[0], weight[1] * shape->groups}, extra[AXES];
    const void *bias;
    NOT_TAKEN(read_sizes(arguments[7], shape->spatial, 0, extra));
    for (int own = 0; own < shape->spatial; own++) {
        const Dimension *d = &shape->dimensions[own + AXES - shape->spatial];
        NOT_TAKEN(input[2 + own] < LARGEST_SIZE && weight[2 + own] < LARGEST_SIZE);
        result[2 + own] = (input[2 + own] - 1) * d->stride - 2 * d->padding + d->dilation * (weight[2 + own] - 1)
                          + extra[own] + 1;
    }
    NOT_TAKEN(read_shapes(shape, result, weight, input) && read_bias(shape, arguments[2], result[1], &bias));
    NOT_TAKEN(bias == NULL || !leaves_elements_out(shape));
    return run_on(run_input_gradient, shape, arguments[0], arguments[1], bias, result, leaves_elements_out(shape));
}

/* convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) */
PyObject *
windows_convolution(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Shape shape;
    const void *bias;
    if (!has_count(count, 9, "convolution")) {
        return NULL;
    }
    NOT_TAKEN(read_arrays(&shape, arguments[0], arguments[1]) && !is_channels_last(arguments[0])
              && !is_channels_last(arguments[1])
              && read_options(&shape, arguments[3], arguments[4], arguments[5], arguments[8]));
    if (arguments[6] == Py_True) {
        return transposed(&shape, arguments);
    }
    const ptrdiff_t *input = PyArray_DIMS(ARRAY(arguments[0])), *weight = PyArray_DIMS(ARRAY(arguments[1]));
    ptrdiff_t result[2 + AXES] = {input[0], weight[0]};
    for (int own = 0; own < shape.spatial; own++) {
        Dimension dimension = shape.dimensions[own + AXES - shape.spatial];
        dimension.size = input[2 + own];
        dimension.kernel = weight[2 + own];
        NOT_TAKEN(input[2 + own] < LARGEST_SIZE && weight[2 + own] < LARGEST_SIZE);
        result[2 + own] = window_count(&dimension);
    }
    NOT_TAKEN(read_shapes(&shape, input, weight, result) && read_bias(&shape, arguments[2], weight[0], &bias));
    return run_on(run_forward, &shape, arguments[0], arguments[1], bias, result, 0);
}

/* convolution_at(input, weight, windows, stride, padding, dilation, groups) */
PyObject *
windows_convolution_at(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Shape shape;
    if (!has_count(count, 7, "convolution_at")) {
        return NULL;
    }
    NOT_TAKEN(read_arrays(&shape, arguments[0], arguments[1])
              && read_options(&shape, arguments[3], arguments[4], arguments[5], arguments[6]));
    const ptrdiff_t *input = PyArray_DIMS(ARRAY(arguments[0])), *weight = PyArray_DIMS(ARRAY(arguments[1]));
    ptrdiff_t result[2 + AXES] = {input[0], weight[0]};
    NOT_TAKEN(read_sizes(arguments[2], shape.spatial, 1, result + 2) && read_shapes(&shape, input, weight, result));
    return run_on(run_forward, &shape, arguments[0], arguments[1], NULL, result, 0);
}

/* convolution_input_gradient(gradient, weight, input_shape, stride, padding, dilation, groups) */
PyObject *
windows_convolution_input_gradient(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Shape shape;
    ptrdiff_t input[2 + AXES];
    if (!has_count(count, 7, "convolution_input_gradient")) {
        return NULL;
    }
    NOT_TAKEN(read_arrays(&shape, arguments[0], arguments[1])
              && read_options(&shape, arguments[3], arguments[4], arguments[5], arguments[6])
              && read_sizes(arguments[2], 2 + shape.spatial, 1, input)
              && read_shapes(&shape, input, PyArray_DIMS(ARRAY(arguments[1])), PyArray_DIMS(ARRAY(arguments[0]))));
    return run_on(run_input_gradient, &shape, arguments[0], arguments[1], NULL, input, leaves_elements_out(&shape));
}

/* convolution_weight_gradient(gradient, input, weight_shape, stride, padding, dilation, groups) */
PyObject *
windows_convolution_weight_gradient(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Shape shape;
    ptrdiff_t weight[2 + AXES];
    if (!has_count(count, 7, "convolution_weight_gradient")) {
        return NULL;
    }
    NOT_TAKEN(read_arrays(&shape, arguments[0], arguments[1])
              && read_options(&shape, arguments[3], arguments[4], arguments[5], arguments[6])
              && read_sizes(arguments[2], 2 + shape.spatial, 1, weight)
              && read_shapes(&shape, PyArray_DIMS(ARRAY(arguments[1])), weight, PyArray_DIMS(ARRAY(arguments[0]))));
    return run_on(weight_only, &shape, arguments[0], arguments[1], NULL, weight, 0);
}
