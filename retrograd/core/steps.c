/* One call for a whole optimizer step: `Optimizer.step` over all groups and parameters.
 *
 * The classes say which rule theirs is, in their own `_compiled_rule`: a subclass, which may compute something else,
 * has none. First everything is looked at, without changing anything: options that are plain numbers, parameters,
 * gradients and state of one shape, dtype and layout in memory, state that exists (a parameter's first step is
 * Python's). Whatever is otherwise anywhere leaves the whole step to Python. Then the arrays are written, parameter
 * after parameter in Python's order, and the writes counted.
 */
#include "arithmetic.h"
#include "shortcut.h"

#include <math.h>
#include <stddef.h>

#define STATE_ARRAYS 3
#define STATE_SCALARS 2
#define LARGE (1 << 16) /* elements from which on other threads may run meanwhile */

/* The options of a group, and what the rule makes of them. */
typedef struct {
    StepWork work;                      /* all that does not depend on the number of steps */
    PyObject *entries[STATE_ARRAYS];    /* names of the state's arrays; NULL: none in this place */
    PyObject *scalars[STATE_SCALARS];   /* names of the state's numbers, beside `step` */
    int counts;                         /* the state has `step` */
    double lr, beta1, beta2, epsilon;
    double decay_of;                    /* of the learning rate, or of the momentum */
    double power, start;                /* ASGD: alpha and t0 */
} Settings;

enum { VALUE, GRADIENT, FIRST, NUMBER = FIRST + STATE_ARRAYS, STEP = NUMBER + STATE_SCALARS, ARRAYS };

/* One parameter: references of its own, so that nothing goes while other threads may run. */
typedef struct {
    PyObject *parameter;
    PyObject *arrays[ARRAYS]; /* NULL where the rule has none */
    const Settings *settings;
} Job;

typedef struct {
    const char *name;
    int (*read)(PyObject *group, Settings *settings);             /* whether the options are plain */
    void (*count)(const Job *job, double step, StepWork *work);   /* what depends on `step`; NULL: nothing */
    size_t loops;                                                 /* the place of its loops in Arithmetic */
} Rule;

typedef struct {
    Settings *settings;
    Job *jobs;
    Py_ssize_t job_count;
    npy_intp elements;
} Plan;

/* ---- names -------------------------------------------------------------------------------------------------- */

static PyObject *name_compiled_rule, *name_param_groups, *name_state, *name_params, *name_step;
static PyObject *name_pre_hooks, *name_post_hooks;
static PyObject *name_lr, *name_betas, *name_eps, *name_weight_decay, *name_momentum, *name_dampening, *name_nesterov;
static PyObject *name_amsgrad, *name_decoupled, *name_alpha, *name_centered, *name_lr_decay;
static PyObject *name_maximize, *name_capturable, *name_differentiable;
static PyObject *name_momentum_buffer, *name_exp_avg, *name_exp_avg_sq, *name_max_exp_avg_sq, *name_square_avg;
static PyObject *name_grad_avg, *name_sum, *name_found_inf, *name_grad_scale;
static PyObject *name_rho, *name_momentum_decay, *name_lambd, *name_t0, *name_etas, *name_step_sizes, *name_mu_product;
static PyObject *name_exp_inf, *name_acc_delta, *name_eta, *name_mu, *name_ax, *name_prev, *name_step_size;

static const struct {
    PyObject **place;
    const char *text;
} names_here[] = {
    {&name_compiled_rule, "_compiled_rule"},
    {&name_param_groups, "param_groups"},
    {&name_state, "state"},
    {&name_params, "params"},
    {&name_step, "step"},
    {&name_pre_hooks, "_optimizer_step_pre_hooks"},
    {&name_post_hooks, "_optimizer_step_post_hooks"},
    {&name_found_inf, "found_inf"},
    {&name_grad_scale, "grad_scale"},
    {&name_lr, "lr"},
    {&name_betas, "betas"},
    {&name_eps, "eps"},
    {&name_weight_decay, "weight_decay"},
    {&name_momentum, "momentum"},
    {&name_dampening, "dampening"},
    {&name_nesterov, "nesterov"},
    {&name_amsgrad, "amsgrad"},
    {&name_decoupled, "decoupled_weight_decay"},
    {&name_alpha, "alpha"},
    {&name_centered, "centered"},
    {&name_lr_decay, "lr_decay"},
    {&name_maximize, "maximize"},
    {&name_capturable, "capturable"},
    {&name_differentiable, "differentiable"},
    {&name_momentum_buffer, "momentum_buffer"},
    {&name_exp_avg, "exp_avg"},
    {&name_exp_avg_sq, "exp_avg_sq"},
    {&name_max_exp_avg_sq, "max_exp_avg_sq"},
    {&name_square_avg, "square_avg"},
    {&name_grad_avg, "grad_avg"},
    {&name_sum, "sum"},
    {&name_rho, "rho"},
    {&name_momentum_decay, "momentum_decay"},
    {&name_lambd, "lambd"},
    {&name_t0, "t0"},
    {&name_etas, "etas"},
    {&name_step_sizes, "step_sizes"},
    {&name_mu_product, "mu_product"},
    {&name_exp_inf, "exp_inf"},
    {&name_acc_delta, "acc_delta"},
    {&name_eta, "eta"},
    {&name_mu, "mu"},
    {&name_ax, "ax"},
    {&name_prev, "prev"},
    {&name_step_size, "step_size"},
};

/* ---- options of a group ------------------------------------------------------------------------------------- */

/* Whether an option is a plain number. Only for the learning rate, which Python passes through `float`, a subclass
 * of float will do: NumPy's numbers, which are some, do not round as Python's beside an array. */
static int
as_plain_number(PyObject *value, double *number)
{
    if (PyFloat_CheckExact(value)) {
        *number = PyFloat_AS_DOUBLE(value);
        return 1;
    }
    if (!PyLong_CheckExact(value)) {
        return 0;
    }
    *number = PyLong_AsDouble(value);
    if (*number == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return fabs(*number) <= 1 << 20; /* exact in every dtype */
}

static int
read_number(PyObject *group, PyObject *name, double *number)
{
    PyObject *value = PyDict_GetItemWithError(group, name);
    if (value != NULL && name == name_lr && PyFloat_Check(value)) {
        *number = PyFloat_AS_DOUBLE(value);
        return 1;
    }
    return value != NULL && as_plain_number(value, number);
}

static int
read_flag(PyObject *group, PyObject *name, int *flag)
{
    PyObject *value = PyDict_GetItemWithError(group, name);
    *flag = value == Py_True;
    return value == Py_True || value == Py_False;
}

static int
is_off(PyObject *group, PyObject *name)
{
    PyObject *value = PyDict_GetItemWithError(group, name);
    return value == NULL || value == Py_False || value == Py_None;
}

/* What all rules have. Which loops `foreach` and `fused` choose in PyTorch makes no difference here. */
static int
read_common(PyObject *group, Settings *settings)
{
    StepWork *work = &settings->work;
    memset(settings, 0, sizeof *settings);
    work->shrink = 1;
    if (!is_off(group, name_maximize) || !is_off(group, name_capturable) || !is_off(group, name_differentiable)
        || !read_number(group, name_lr, &settings->lr) || !read_number(group, name_weight_decay, &work->decay)) {
        return 0;
    }
    work->form = work->decay != 0 ? DECAYS : 0;
    return 1;
}

static int
read_sgd(PyObject *group, Settings *settings)
{
    double dampening;
    int nesterov;
    StepWork *work = &settings->work;
    if (!read_common(group, settings) || !read_number(group, name_momentum, &work->momentum)
        || !read_number(group, name_dampening, &dampening) || !read_flag(group, name_nesterov, &nesterov)) {
        return 0;
    }
    work->rate = settings->lr;
    work->undamped = 1 - dampening;
    if (work->momentum != 0) {
        work->form |= WITH_MOMENTUM | (nesterov ? NESTEROV : 0);
        settings->entries[0] = name_momentum_buffer;
    }
    return 1;
}

static int
is_share(double number)
{
    return number >= 0 && number < 1;
}

/* A pair of floats. */
static int
read_pair(PyObject *group, PyObject *name, double *first, double *second)
{
    PyObject *pair = PyDict_GetItemWithError(group, name);
    if (pair == NULL || !PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2
        || !PyFloat_CheckExact(PyTuple_GET_ITEM(pair, 0)) || !PyFloat_CheckExact(PyTuple_GET_ITEM(pair, 1))) {
        return 0;
    }
    *first = PyFloat_AS_DOUBLE(PyTuple_GET_ITEM(pair, 0));
    *second = PyFloat_AS_DOUBLE(PyTuple_GET_ITEM(pair, 1));
    return 1;
}

/* What Adam and its kin have: two averages and `eps`. */
static int
read_averages(PyObject *group, Settings *settings)
{
    StepWork *work = &settings->work;
    if (!read_common(group, settings) || !read_pair(group, name_betas, &settings->beta1, &settings->beta2)
        || !read_number(group, name_eps, &settings->epsilon) || !is_share(settings->beta1) || !is_share(settings->beta2)) {
        return 0; /* with other betas, what follows from them may not exist */
    }
    work->weight = 1 - settings->beta1;
    work->keep = settings->beta2;
    work->join = 1 - settings->beta2;
    work->epsilon = settings->epsilon;
    work->form |= work->weight < 0.5 ? 0 : FAR;
    settings->entries[0] = name_exp_avg;
    settings->entries[1] = name_exp_avg_sq;
    settings->counts = 1;
    return 1;
}

/* Weight decay that shrinks the value itself, where a group has that. */
static int
read_decoupling(PyObject *group, Settings *settings)
{
    int decoupled;
    StepWork *work = &settings->work;
    if (!read_flag(group, name_decoupled, &decoupled)) {
        return 0;
    }
    if (decoupled && work->decay != 0) {
        work->shrink = 1 - settings->lr * work->decay;
        work->form &= ~DECAYS;
    }
    return 1;
}

static int
read_adam(PyObject *group, Settings *settings)
{
    int amsgrad;
    if (!read_averages(group, settings) || !read_decoupling(group, settings) || !read_flag(group, name_amsgrad, &amsgrad)) {
        return 0;
    }
    settings->work.form |= amsgrad ? AMSGRAD : 0;
    settings->entries[2] = amsgrad ? name_max_exp_avg_sq : NULL;
    return 1;
}

/* The powers are Python's, `**` with 0.5 included: a square root may differ in the last bit. */
static void
count_adam(const Job *job, double step, StepWork *work)
{
    const Settings *settings = job->settings;
    const double correction = pow(1 - pow(settings->beta2, step), 0.5);
    work->rate = -settings->lr / (1 - pow(settings->beta1, step)) * correction;
    work->epsilon = settings->epsilon * correction;
}

static int
read_rmsprop(PyObject *group, Settings *settings)
{
    int centered;
    StepWork *work = &settings->work;
    if (!read_common(group, settings) || !read_number(group, name_momentum, &work->momentum)
        || !read_number(group, name_alpha, &work->keep) || !read_number(group, name_eps, &work->epsilon)
        || !read_flag(group, name_centered, &centered)) {
        return 0;
    }
    work->rate = -settings->lr;
    work->join = work->weight = 1 - work->keep;
    if (centered && fabs(work->weight) >= 0.5) {
        return 0; /* the average would be approached from the other end */
    }
    work->form |= (centered ? CENTERED : 0) | (work->momentum > 0 ? BUFFERED : 0);
    settings->entries[0] = name_square_avg;
    settings->entries[1] = centered ? name_grad_avg : NULL;
    settings->entries[2] = work->momentum > 0 ? name_momentum_buffer : NULL;
    settings->counts = 1;
    return 1;
}

static int
read_adagrad(PyObject *group, Settings *settings)
{
    if (!read_common(group, settings) || !read_number(group, name_lr_decay, &settings->decay_of)
        || !read_number(group, name_eps, &settings->work.epsilon) || settings->decay_of < 0) {
        return 0;
    }
    settings->entries[0] = name_sum;
    settings->counts = 1;
    return 1;
}

static void
count_adagrad(const Job *job, double step, StepWork *work)
{
    work->rate = -(job->settings->lr / (1 + (step - 1) * job->settings->decay_of));
}

/* A number of the state. */
static double
number_of(PyObject *array)
{
    const void *data = PyArray_DATA(ARRAY(array));
    return PyArray_TYPE(ARRAY(array)) == NPY_FLOAT32 ? (double)*(const float *)data : *(const double *)data;
}

static void
set_number(PyObject *array, double number)
{
    void *data = PyArray_DATA(ARRAY(array));
    if (PyArray_TYPE(ARRAY(array)) == NPY_FLOAT32) {
        *(float *)data = (float)number;
    }
    else {
        *(double *)data = number;
    }
}

/* Nearer to one, the product of the momenta may round to one. */
#define LARGEST_MOMENTUM 0.999

static int
read_nadam(PyObject *group, Settings *settings)
{
    if (!read_averages(group, settings) || !read_decoupling(group, settings)
        || !read_number(group, name_momentum_decay, &settings->decay_of) || settings->beta1 > LARGEST_MOMENTUM
        || settings->decay_of < 0) {
        return 0;
    }
    settings->scalars[0] = name_mu_product;
    return 1;
}

static void
count_nadam(const Job *job, double step, StepWork *work)
{
    const Settings *settings = job->settings;
    const double momentum = settings->beta1 * (1.0 - 0.5 * pow(0.96, step * settings->decay_of));
    const double following = settings->beta1 * (1.0 - 0.5 * pow(0.96, (step + 1) * settings->decay_of));
    PyObject *product = job->arrays[NUMBER];
    if (PyArray_TYPE(ARRAY(product)) == NPY_FLOAT32) {
        *(float *)PyArray_DATA(ARRAY(product)) *= (float)momentum;
    }
    else {
        *(double *)PyArray_DATA(ARRAY(product)) *= momentum;
    }
    const double so_far = number_of(product);
    work->divisor = 1 - pow(settings->beta2, step);
    work->rate = settings->lr * (1.0 - momentum) / (1.0 - so_far);
    work->factor = settings->lr * following / (1.0 - so_far * following);
}

static int
read_radam(PyObject *group, Settings *settings)
{
    return read_averages(group, settings) && read_decoupling(group, settings);
}

/* `RAdam._rectification`, with its numbers. */
static void
count_radam(const Job *job, double step, StepWork *work)
{
    const double beta2 = job->settings->beta2, correction = 1 - pow(beta2, step), longest = 2 / (1 - beta2) - 1;
    const double length = longest - 2 * step * pow(beta2, step) / correction;
    work->rate = job->settings->lr;
    work->divisor = 1 - pow(job->settings->beta1, step);
    if (length > 5.0) {
        const double rectified = (length - 4) * (length - 2) * longest;
        const double ratio = rectified / ((longest - 4) * (longest - 2) * length);
        work->factor = pow(correction * ratio, 0.5);
        work->form |= RECTIFIED;
    }
}

static int
read_adamax(PyObject *group, Settings *settings)
{
    if (!read_averages(group, settings)) {
        return 0;
    }
    settings->entries[1] = name_exp_inf;
    return 1;
}

static void
count_adamax(const Job *job, double step, StepWork *work)
{
    work->rate = -job->settings->lr / (1 - pow(job->settings->beta1, step));
}

static int
read_adadelta(PyObject *group, Settings *settings)
{
    StepWork *work = &settings->work;
    if (!read_common(group, settings) || !read_number(group, name_rho, &work->keep)
        || !read_number(group, name_eps, &work->epsilon)) {
        return 0;
    }
    work->join = 1 - work->keep;
    work->rate = -settings->lr;
    settings->entries[0] = name_square_avg;
    settings->entries[1] = name_acc_delta;
    settings->counts = 1;
    return 1;
}

static int
read_asgd(PyObject *group, Settings *settings)
{
    if (!read_common(group, settings) || !read_number(group, name_lambd, &settings->decay_of)
        || !read_number(group, name_alpha, &settings->power) || !read_number(group, name_t0, &settings->start)
        || settings->decay_of < 0 || settings->lr < 0) {
        return 0;
    }
    settings->entries[0] = name_ax;
    settings->scalars[0] = name_eta;
    settings->scalars[1] = name_mu;
    settings->counts = 1;
    return 1;
}

/* This step has the rate and the weight that the one before has left; the next gets its own. */
static void
count_asgd(const Job *job, double step, StepWork *work)
{
    const Settings *settings = job->settings;
    const double eta = number_of(job->arrays[NUMBER]), mu = number_of(job->arrays[NUMBER + 1]);
    work->shrink = 1 - settings->decay_of * eta;
    work->rate = -eta;
    work->weight = mu;
    work->form |= mu != 1 ? AVERAGING : 0;
    const double later = step - settings->start;
    set_number(job->arrays[NUMBER], settings->lr / pow(1 + settings->decay_of * settings->lr * step, settings->power));
    set_number(job->arrays[NUMBER + 1], 1 / (later > 1 ? later : 1));
}

static int
read_rprop(PyObject *group, Settings *settings)
{
    memset(settings, 0, sizeof *settings);
    StepWork *work = &settings->work;
    PyObject *sizes = PyDict_GetItemWithError(group, name_step_sizes);
    if (!is_off(group, name_maximize) || !is_off(group, name_capturable) || !is_off(group, name_differentiable)
        || PyDict_GetItemWithError(group, name_weight_decay) != NULL
        || !read_pair(group, name_etas, &work->shrink, &work->factor) || sizes == NULL || !PyTuple_CheckExact(sizes)
        || PyTuple_GET_SIZE(sizes) != 2 || !as_plain_number(PyTuple_GET_ITEM(sizes, 0), &work->lowest)
        || !as_plain_number(PyTuple_GET_ITEM(sizes, 1), &work->highest) || !(work->lowest <= work->highest)
        || !(work->shrink > 0 && work->shrink < 1 && work->factor > 1)) {
        return 0;
    }
    settings->entries[0] = name_prev;
    settings->entries[1] = name_step_size;
    settings->counts = 1;
    return 1;
}

static const Rule rules[] = {
    {"sgd", read_sgd, NULL, offsetof(Arithmetic, sgd)},
    {"adam", read_adam, count_adam, offsetof(Arithmetic, adam)},
    {"rmsprop", read_rmsprop, NULL, offsetof(Arithmetic, rmsprop)},
    {"adagrad", read_adagrad, count_adagrad, offsetof(Arithmetic, adagrad)},
    {"nadam", read_nadam, count_nadam, offsetof(Arithmetic, nadam)},
    {"radam", read_radam, count_radam, offsetof(Arithmetic, radam)},
    {"adamax", read_adamax, count_adamax, offsetof(Arithmetic, adamax)},
    {"adadelta", read_adadelta, NULL, offsetof(Arithmetic, adadelta)},
    {"asgd", read_asgd, count_asgd, offsetof(Arithmetic, asgd)},
    {"rprop", read_rprop, NULL, offsetof(Arithmetic, rprop)},
};

/* ---- which optimizers --------------------------------------------------------------------------------------- */

/* What was found out about a class; the reference keeps another one from having its address. */
static struct {
    PyTypeObject *type;
    const Rule *rule;
    PyObject *writer; /* what the counted writes say: "Adam.step" */
} known;

/* Makes `known` that of a class that declares a rule; whether it does. */
static int
find_rule(PyTypeObject *type)
{
    if (known.type == type) {
        return 1;
    }
    PyObject *name = type->tp_dict == NULL ? NULL : PyDict_GetItemWithError(type->tp_dict, name_compiled_rule);
    if (name == NULL || !PyUnicode_CheckExact(name)) {
        return 0;
    }
    for (size_t index = 0; index < sizeof rules / sizeof *rules; index++) {
        if (PyUnicode_CompareWithASCIIString(name, rules[index].name) == 0) {
            PyObject *writer = PyUnicode_FromFormat("%s.step", type->tp_name);
            if (writer == NULL) {
                return 0;
            }
            Py_XSETREF(known.type, (PyTypeObject *)Py_NewRef((PyObject *)type));
            Py_XSETREF(known.writer, writer);
            known.rule = &rules[index];
            return 1;
        }
    }
    return 0;
}

/* Whether there is nothing in a table of hooks. */
static int
is_empty(PyObject *table)
{
    return table != NULL && PyDict_Check(table) && PyDict_GET_SIZE(table) == 0;
}

/* ---- looking ------------------------------------------------------------------------------------------------ */

static int
is_plain(PyObject *array, int type_number, int written)
{
    return PyArray_CheckExact(array) && PyArray_TYPE(ARRAY(array)) == type_number && PyArray_ISALIGNED(ARRAY(array))
           && PyArray_ISNOTSWAPPED(ARRAY(array)) && (!written || PyArray_ISWRITEABLE(ARRAY(array)));
}

/* Whether the elements of two arrays correspond in memory. */
static int
is_alike(PyObject *one, PyObject *other)
{
    PyArrayObject *a = ARRAY(one), *b = ARRAY(other);
    return PyArray_NDIM(a) == PyArray_NDIM(b) && PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a))
           && (PyArray_FLAGS(a) & PyArray_FLAGS(b) & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)) != 0;
}

static int
do_overlap(PyObject *one, PyObject *other)
{
    const char *a = PyArray_BYTES(ARRAY(one)), *b = PyArray_BYTES(ARRAY(other));
    return a < b + PyArray_NBYTES(ARRAY(other)) && b < a + PyArray_NBYTES(ARRAY(one));
}

/* The array of a tensor that is no subclass; borrowed, NULL otherwise. */
static PyObject *
array_of(PyObject *tensor)
{
    return tensor != NULL && is_tensor(tensor) ? SLOT(tensor, in_tensor.array) : NULL;
}

/* The counted steps so far. */
static double *
step_place(const Job *job, float **narrow)
{
    PyArrayObject *array = ARRAY(job->arrays[STEP]);
    *narrow = PyArray_TYPE(array) == NPY_FLOAT32 ? PyArray_DATA(array) : NULL;
    return *narrow == NULL ? PyArray_DATA(array) : NULL;
}

static int
is_scalar(PyObject *array)
{
    return array != NULL && PyArray_CheckExact(array) && PyArray_NDIM(ARRAY(array)) == 0
           && (is_plain(array, NPY_FLOAT32, 1) || is_plain(array, NPY_FLOAT64, 1));
}

/* Finds the arrays of a parameter's state. */
static int
look_at_state(PyObject *state, Job *job, int type_number)
{
    const Settings *settings = job->settings;
    for (int index = 0; index < STATE_ARRAYS; index++) {
        if (settings->entries[index] == NULL) {
            continue;
        }
        PyObject *array = array_of(PyDict_GetItemWithError(state, settings->entries[index]));
        if (array == NULL || !is_plain(array, type_number, 1) || !is_alike(array, job->arrays[VALUE])) {
            return 0;
        }
        job->arrays[FIRST + index] = Py_NewRef(array);
    }
    if (settings->counts) {
        PyObject *array = array_of(PyDict_GetItemWithError(state, name_step));
        if (!is_scalar(array) || !(number_of(array) >= 0)) {
            return 0;
        }
        job->arrays[STEP] = Py_NewRef(array);
    }
    for (int index = 0; index < STATE_SCALARS && settings->scalars[index] != NULL; index++) {
        PyObject *array = array_of(PyDict_GetItemWithError(state, settings->scalars[index]));
        if (!is_scalar(array)) {
            return 0;
        }
        job->arrays[NUMBER + index] = Py_NewRef(array);
    }
    return 1;
}

/* Looks at one parameter and adds it to the plan, if it has a gradient; whether it is as it should be. */
static int
look_at_parameter(Plan *plan, const Settings *settings, PyObject *parameter, PyObject *states)
{
    PyObject *value = array_of(parameter);
    if (value == NULL || !slot_given(parameter, in_tensor.meta)) {
        return value != NULL;
    }
    PyObject *meta = SLOT(parameter, in_tensor.meta);
    if (Py_TYPE(meta) != objects.TensorMeta) {
        return 0;
    }
    if (!slot_given(meta, in_meta.grad)) {
        return 1;
    }
    PyObject *gradient = array_of(SLOT(meta, in_meta.grad)), *cell = SLOT(parameter, in_tensor.cell);
    const int type_number = PyArray_CheckExact(value) ? PyArray_TYPE(ARRAY(value)) : NPY_NOTYPE;
    if (gradient == NULL || (type_number != NPY_FLOAT32 && type_number != NPY_FLOAT64)
        || !is_plain(value, type_number, 1) || !is_plain(gradient, type_number, 0) || !is_alike(value, gradient)
        || cell == NULL || (cell != Py_None && Py_TYPE(cell) != objects.VersionCell)) {
        return 0;
    }
    Job *job = &plan->jobs[plan->job_count++];
    memset(job, 0, sizeof *job);
    job->parameter = Py_NewRef(parameter);
    job->arrays[VALUE] = Py_NewRef(value);
    job->arrays[GRADIENT] = Py_NewRef(gradient);
    job->settings = settings;
    plan->elements += PyArray_SIZE(ARRAY(value));
    if (settings->counts || settings->entries[0] != NULL) {
        PyObject *state = PyDict_GetItemWithError(states, parameter);
        if (state == NULL || !PyDict_CheckExact(state) || !look_at_state(state, job, type_number)) {
            return 0;
        }
    }
    for (int one = 0; one < ARRAYS; one++) {
        for (int other = one + 1; other < ARRAYS; other++) {
            if (job->arrays[one] != NULL && job->arrays[other] != NULL
                && do_overlap(job->arrays[one], job->arrays[other])) {
                return 0;
            }
        }
    }
    return 1;
}

static int
look_at_groups(Plan *plan, const Rule *rule, PyObject *groups, PyObject *states)
{
    for (Py_ssize_t number = 0; number < PyList_GET_SIZE(groups); number++) {
        PyObject *group = PyList_GET_ITEM(groups, number);
        PyObject *parameters = PyDict_GetItemWithError(group, name_params);
        if (!rule->read(group, &plan->settings[number])) {
            return 0;
        }
        for (Py_ssize_t index = 0; index < PyList_GET_SIZE(parameters); index++) {
            if (!look_at_parameter(plan, &plan->settings[number], PyList_GET_ITEM(parameters, index), states)) {
                return 0;
            }
        }
    }
    return 1;
}

/* How many parameters there are in all groups; -1 if a group is not as it should be. */
static Py_ssize_t
count_parameters(PyObject *groups)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t number = 0; number < PyList_GET_SIZE(groups); number++) {
        PyObject *group = PyList_GET_ITEM(groups, number);
        PyObject *parameters = PyDict_CheckExact(group) ? PyDict_GetItemWithError(group, name_params) : NULL;
        if (parameters == NULL || !PyList_CheckExact(parameters)) {
            return -1;
        }
        count += PyList_GET_SIZE(parameters);
    }
    return count;
}

/* ---- doing -------------------------------------------------------------------------------------------------- */

static double
count_step(const Job *job)
{
    float *narrow;
    double *wide = step_place(job, &narrow);
    return narrow != NULL ? (double)(*narrow += 1) : (*wide += 1);
}

typedef struct {
    const StepWork *whole;
    StepLoop loop;
    ptrdiff_t item;
} StepContext;

static void
do_step(void *context, npy_intp start, npy_intp stop)
{
    const StepContext *step = context;
    const ptrdiff_t skip = start * step->item;
    StepWork work = *step->whole;
    work.size = stop - start;
    work.value = (char *)work.value + skip;
    work.gradient = (const char *)work.gradient + skip;
    for (int entry = 0; entry < STATE_ARRAYS; entry++) {
        work.state[entry] = work.state[entry] == NULL ? NULL : (char *)work.state[entry] + skip;
    }
    step->loop(&work);
}

static void
compute(const Plan *plan, const Rule *rule)
{
    const StepLoop *loops = (const StepLoop *)((const char *)arithmetic + rule->loops);
    for (Py_ssize_t index = 0; index < plan->job_count; index++) {
        const Job *job = &plan->jobs[index];
        StepWork work = job->settings->work;
        work.size = PyArray_SIZE(ARRAY(job->arrays[VALUE]));
        work.value = PyArray_DATA(ARRAY(job->arrays[VALUE]));
        work.gradient = PyArray_DATA(ARRAY(job->arrays[GRADIENT]));
        for (int entry = 0; entry < STATE_ARRAYS; entry++) {
            PyObject *array = job->arrays[FIRST + entry];
            work.state[entry] = array == NULL ? NULL : PyArray_DATA(ARRAY(array));
        }
        if (job->settings->counts) {
            const double step = count_step(job);
            if (rule->count != NULL) {
                rule->count(job, step, &work);
            }
        }
        StepContext step = {&work, loops[PyArray_TYPE(ARRAY(job->arrays[VALUE])) == NPY_FLOAT64],
                            PyArray_ITEMSIZE(ARRAY(job->arrays[VALUE]))};
        in_threads(shared_threads, do_step, &step, work.size, THREAD_GRAIN / 4);
    }
}

/* Counts one write on each parameter: `Optimizer._count_writes`. */
static int
count_writes(const Plan *plan, PyObject *writer, PyObject *code, PyObject *instruction)
{
    for (Py_ssize_t index = 0; index < plan->job_count; index++) {
        if (count_write(plan->jobs[index].parameter, writer, code, instruction) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
run_plan(const Plan *plan, const Rule *rule, PyObject *writer)
{
    PyObject *code, *instruction;
    if (user_site(&code, &instruction) < 0) {
        return NULL;
    }
    Py_INCREF(writer);
    if (plan->elements >= LARGE) {
        Py_BEGIN_ALLOW_THREADS
        compute(plan, rule);
        Py_END_ALLOW_THREADS
    }
    else {
        compute(plan, rule);
    }
    const int failed = count_writes(plan, writer, code, instruction) < 0;
    Py_DECREF(writer);
    Py_DECREF(code);
    Py_DECREF(instruction);
    return failed ? NULL : Py_NewRef(Py_None);
}

static void
drop_plan(Plan *plan)
{
    for (Py_ssize_t index = 0; index < plan->job_count; index++) {
        Py_DECREF(plan->jobs[index].parameter);
        for (int place = 0; place < ARRAYS; place++) {
            Py_XDECREF(plan->jobs[index].arrays[place]);
        }
    }
    PyMem_Free(plan->settings);
    PyMem_Free(plan->jobs);
}

/* `optimizer.step()`. `given`: the tables of the hooks that all optimizers have. */
static PyObject *
step_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count != 1 || names != NULL || arithmetic == NULL || is_unusual()) {
        return NULL;
    }
    PyObject *own = find_rule(Py_TYPE(arguments[0])) ? borrowed_dict(arguments[0]) : NULL;
    if (own == NULL || !is_empty(PyTuple_GET_ITEM(self->given, 0)) || !is_empty(PyTuple_GET_ITEM(self->given, 1))
        || !is_empty(PyDict_GetItemWithError(own, name_pre_hooks))
        || !is_empty(PyDict_GetItemWithError(own, name_post_hooks))
        || PyDict_GetItemWithError(own, name_found_inf) != NULL
        || PyDict_GetItemWithError(own, name_grad_scale) != NULL) { /* somebody told of a scale */
        return NULL;
    }
    PyObject *groups = PyDict_GetItemWithError(own, name_param_groups);
    PyObject *states = PyDict_GetItemWithError(own, name_state);
    if (groups == NULL || !PyList_CheckExact(groups) || states == NULL || !PyDict_Check(states)) {
        return NULL;
    }
    const Py_ssize_t most = count_parameters(groups);
    if (most < 0) {
        return NULL;
    }
    Plan plan = {0};
    plan.settings = PyMem_New(Settings, PyList_GET_SIZE(groups));
    plan.jobs = PyMem_New(Job, most);
    PyObject *result = NULL;
    if (plan.settings == NULL || plan.jobs == NULL) {
        PyErr_NoMemory();
    }
    else if (look_at_groups(&plan, known.rule, groups, states)) {
        result = run_plan(&plan, known.rule, known.writer);
    }
    drop_plan(&plan);
    return result;
}

SHORTCUT_METHOD(step, 2)

/* ---- the part ----------------------------------------------------------------------------------------------- */

static int
add(PyObject *Py_UNUSED(module))
{
    for (size_t index = 0; index < sizeof names_here / sizeof *names_here; index++) {
        *names_here[index].place = PyUnicode_InternFromString(names_here[index].text);
        if (*names_here[index].place == NULL) {
            return -1;
        }
    }
    return 0;
}

/* `Tensor.__hash__`. The state of an optimizer is found by tensor, so do many tables: this is worth a slot. */
static Py_hash_t
tensor_hash(PyObject *tensor)
{
    return (Py_hash_t)(Py_ssize_t)tensor;
}

/* Whoever assigns another `__hash__` to the class sets the slots anew. */
static int
start(void)
{
    objects.Tensor->tp_hash = tensor_hash;
    objects.Parameter->tp_hash = tensor_hash;
    return 0;
}

static PyMethodDef methods[] = {
    {"step", (PyCFunction)(void (*)(void))core_step, METH_FASTCALL,
     "step(function, pre_hooks, post_hooks): `Optimizer.step` with a compiled way."},
    {NULL, NULL, 0, NULL},
};

const Part steps_part = {.methods = methods, .add = add, .start = start};
