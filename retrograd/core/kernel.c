/* Running an op's kernel: the Python function or ufunc itself, or for small work a shorter way to the same bits. */
#include "caller.h"

static PyObject *asarray, *settled;
static PyObject *error_mode_variable; /* where NumPy keeps its floating point error mode; NULL: go through Python */

/* ---- without warnings --------------------------------------------------------------------------------------- */

PyObject *
quiet_begin(void)
{
    if (error_mode_variable == NULL) {
        return PyObject_CallOneArg(objects.enter_quiet, objects.QUIET);
    }
    PyObject *current;
    if (PyContextVar_Get(error_mode_variable, NULL, &current) < 0) {
        return NULL;
    }
    Py_XDECREF(current);
    if (current == objects.QUIET) {
        return Py_NewRef(Py_None); /* they are off: inside of a backward pass, say */
    }
    return PyContextVar_Set(error_mode_variable, objects.QUIET);
}

int
quiet_end(PyObject *token)
{
    if (token == Py_None) {
        Py_DECREF(token);
        return 0;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int failed;
    if (error_mode_variable == NULL) {
        PyObject *nothing = PyObject_CallOneArg(objects.leave_quiet, token);
        failed = nothing == NULL;
        Py_XDECREF(nothing);
    }
    else {
        failed = PyContextVar_Reset(error_mode_variable, token) < 0;
    }
    Py_DECREF(token);
    if (failed) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return -1;
    }
    PyErr_Restore(type, value, traceback);
    return 0;
}

/* ---- the kernel as it is ------------------------------------------------------------------------------------ */

PyObject *
as_plain_array(PyObject *result)
{
    if (result == NULL || PyArray_CheckExact(result)) {
        return result;
    }
    PyObject *array = PyObject_CallOneArg(asarray, result);
    Py_DECREF(result);
    return array;
}

/* Calls a function with arrays in place of tensors, options as they are; keyword-only ones come last. */
static PyObject *
call_with_arrays(const Call *call, PyObject *function, int with_xp)
{
    const CallPlan *plan = call->plan;
    PyObject *arguments[MOST_PARAMETERS + 2];
    PyObject **values = arguments + 2;
    arguments[1] = plan->xp;
    memcpy(values, call->values, plan->parameter_count * sizeof *values);
    for (int index = 0; index < plan->tensor_count; index++) {
        values[plan->tensor_places[index]] = call->arrays[index];
    }
    const size_t count = plan->parameter_count - plan->keyword_count + (with_xp != 0);
    return PyObject_Vectorcall(function, values - (with_xp != 0), count | PY_VECTORCALL_ARGUMENTS_OFFSET,
                               plan->kernel_keywords);
}

/* Whether the op's check lets the call pass; if not, Python runs it again, and its error is that call's. */
int
run_check(Call *call)
{
    PyObject *result = call->plan->check == NULL ? Py_NewRef(Py_None) : call_with_arrays(call, call->plan->check, 0);
    call->kernel_failed = result == NULL;
    Py_XDECREF(result);
    return result != NULL;
}

/* A ufunc takes the operands alone, and may write into a target. */
static PyObject *
call_kernel(const Call *call, PyObject *target)
{
    const CallPlan *plan = call->plan;
    PyObject *arguments[MOST_PARAMETERS + 2];
    if (plan->ufunc != NULL) {
        memcpy(arguments, call->arrays, plan->tensor_count * sizeof *arguments);
        arguments[plan->tensor_count] = target;
        return PyObject_Vectorcall(plan->kernel, arguments, plan->tensor_count + (target != NULL), NULL);
    }
    return call_with_arrays(call, plan->kernel, 1);
}

/* ---- NumPy's inner loop ------------------------------------------------------------------------------------- */

/* From here on a loop lets other threads run, as it does in NumPy. */
#define LONG_LOOP 500

typedef struct {
    const CallPlan *plan;
    int number;
    char *operand, *result;
    const npy_intp *strides;
} LoopWork;

static void
do_loop(void *context, npy_intp start, npy_intp stop)
{
    const LoopWork *work = context;
    const npy_intp count = stop - start;
    char *data[2] = {work->operand + start * work->strides[0], work->result + start * work->strides[1]};
    work->plan->loops[work->number](data, &count, work->strides, work->plan->loop_data[work->number]);
}

/* The ufunc's own loop over a dense array: NumPy's bits without the way to them. NULL without an error set where
 * the array is not such. The strides are NumPy's too: its loops take other ways for an operand without dimensions. */
static PyObject *
run_loop(const CallPlan *plan, PyObject *array)
{
    PyArrayObject *operand = ARRAY(array);
    const int number = PyArray_DESCR(operand) == objects.F64;
    if (plan->loops[number] == NULL || (!number && PyArray_DESCR(operand) != objects.F32) || !PyArray_ISALIGNED(operand)
        || !(PyArray_IS_C_CONTIGUOUS(operand) || PyArray_IS_F_CONTIGUOUS(operand))) {
        return NULL;
    }
    PyObject *result = new_array_like(array);
    if (result == NULL) {
        return NULL;
    }
    const int ndim = PyArray_NDIM(operand);
    const npy_intp item = PyArray_ITEMSIZE(operand), size = PyArray_SIZE(operand);
    const npy_intp strides[2] = {ndim == 0 ? 0 : ndim == 1 ? PyArray_STRIDE(operand, 0) : item, item};
    LoopWork work = {plan, number, PyArray_BYTES(operand), PyArray_BYTES(ARRAY(result)), strides};
    PyThreadState *released = size >= LONG_LOOP ? PyEval_SaveThread() : NULL;
    in_threads(shared_threads, do_loop, &work, size, THREAD_GRAIN);
    if (released != NULL) {
        PyEval_RestoreThread(released);
    }
    return result;
}

/* Whether the loop gives what the ufunc gives, bit for bit, for an array of some shape; errors count as no. */
static int
loop_agrees(const CallPlan *plan, int ndim, npy_intp size, int type_number)
{
    int agrees = 0;
    PyObject *array = PyArray_SimpleNew(ndim, &size, type_number), *ours = NULL, *theirs = NULL;
    if (array != NULL) {
        for (npy_intp index = 0; index < PyArray_SIZE(ARRAY(array)); index++) {
            const double value = 0.1 + 0.77 * (double)index;
            if (type_number == NPY_FLOAT32) {
                ((npy_float32 *)PyArray_DATA(ARRAY(array)))[index] = (npy_float32)value;
            }
            else {
                ((npy_float64 *)PyArray_DATA(ARRAY(array)))[index] = value;
            }
        }
        ours = run_loop(plan, array);
        theirs = as_plain_array(PyObject_CallOneArg(plan->ufunc, array));
        agrees = ours != NULL && theirs != NULL && PyArray_DESCR(ARRAY(ours)) == PyArray_DESCR(ARRAY(theirs))
                 && PyArray_NBYTES(ARRAY(ours)) == PyArray_NBYTES(ARRAY(theirs))
                 && memcmp(PyArray_DATA(ARRAY(ours)), PyArray_DATA(ARRAY(theirs)), PyArray_NBYTES(ARRAY(ours))) == 0;
    }
    Py_XDECREF(array);
    Py_XDECREF(ours);
    Py_XDECREF(theirs);
    PyErr_Clear();
    return agrees;
}

/* Finds the loops of a ufunc of one operand: the first that match, which are those that NumPy takes. They are used
 * only where they were seen to agree with the ufunc. */
void
find_loops(CallPlan *plan)
{
    const int types[2] = {NPY_FLOAT32, NPY_FLOAT64};
    PyUFuncObject *ufunc = (PyUFuncObject *)plan->ufunc;
    if (!PyObject_TypeCheck(plan->ufunc, &PyUFunc_Type) || ufunc->nin != 1 || ufunc->nout != 1) {
        return;
    }
    PyObject *token = quiet_begin(); /* not every number that is tried has a result */
    if (token == NULL) {
        PyErr_Clear();
        return;
    }
    for (int number = 0; number < 2; number++) {
        for (int index = 0; index < ufunc->ntypes && plan->loops[number] == NULL; index++) {
            if (ufunc->types[2 * index] == types[number] && ufunc->types[2 * index + 1] == types[number]) {
                plan->loops[number] = ufunc->functions[index];
                plan->loop_data[number] = ufunc->data == NULL ? NULL : (void *)ufunc->data[index];
            }
        }
        if (!loop_agrees(plan, 0, 0, types[number]) || !loop_agrees(plan, 1, 1, types[number])
            || !loop_agrees(plan, 1, 37, types[number])) {
            plan->loops[number] = NULL;
        }
    }
    if (quiet_end(token) < 0) {
        PyErr_Clear();
    }
}

/* ---- choosing and running ----------------------------------------------------------------------------------- */

void
choose_kernel(CallPlan *plan)
{
    if (plan->ufunc != NULL && plan->form == FORM_SINGLE && plan->loud && plan->tensor_count == 1) {
        find_loops(plan);
    }
}

static PyObject *
run_quietly(Call *call, PyObject *target)
{
    PyObject *token = call->plan->loud ? quiet_begin() : NULL;
    if (token == NULL && PyErr_Occurred()) {
        return NULL;
    }
    PyObject *result = call_kernel(call, target);
    call->kernel_failed = result == NULL;
    if (token != NULL && quiet_end(token) < 0) {
        call->kernel_failed = 0;
        Py_CLEAR(result);
    }
    return result;
}

/* Whether an array has a dimension of one element whose stride is not that of rows, as `unfold` makes them. It says
 * nothing about where elements lie, but PyTorch's order of dimensions looks at it. */
static int
has_odd_stride(PyArrayObject *array)
{
    npy_intp row = PyArray_ITEMSIZE(array);
    for (int dim = PyArray_NDIM(array) - 1; dim >= 0; dim--) {
        if (PyArray_DIM(array, dim) == 1 && PyArray_STRIDE(array, dim) != row && PyArray_STRIDE(array, dim) != 0) {
            return 1;
        }
        row *= PyArray_DIM(array, dim);
    }
    return 0;
}

/* Whether a result may lie in memory in another order than PyTorch's: not where all operands lie row by row. */
static int
may_lie_wrong(const Call *call, PyObject *result)
{
    const CallPlan *plan = call->plan;
    if (!PyArray_CheckExact(result) || PyArray_NDIM(ARRAY(result)) < 2) {
        return 0;
    }
    if (plan->lies == LIES_IN_ROWS) {
        return !PyArray_IS_C_CONTIGUOUS(ARRAY(result));
    }
    for (int index = 0; index < plan->tensor_count; index++) {
        if (PyArray_CheckExact(call->arrays[index]) && !PyArray_IS_C_CONTIGUOUS(ARRAY(call->arrays[index]))) {
            return plan->tensor_count > 1 || !PyArray_IS_F_CONTIGUOUS(ARRAY(call->arrays[index]))
                || !PyArray_IS_F_CONTIGUOUS(ARRAY(result));
        }
    }
    for (int index = 0; plan->tensor_count > 1 && PyArray_NDIM(ARRAY(result)) > 2 && index < plan->tensor_count; index++) {
        if (PyArray_CheckExact(call->arrays[index]) && has_odd_stride(ARRAY(call->arrays[index]))) {
            return 1;
        }
    }
    return 0;
}

/* A result in PyTorch's memory order; takes the reference. */
static PyObject *
settle(const Call *call, PyObject *result)
{
    const CallPlan *plan = call->plan;
    if (result == NULL || plan->lies == 0 || !may_lie_wrong(call, result)) {
        return result;
    }
    PyObject *operands = PyTuple_New(plan->tensor_count), *right = NULL;
    for (int index = 0; operands != NULL && index < plan->tensor_count; index++) {
        PyTuple_SET_ITEM(operands, index, Py_NewRef(call->arrays[index]));
    }
    if (operands != NULL) {
        right = PyObject_CallFunctionObjArgs(settled, plan->op, result, operands, NULL);
    }
    Py_XDECREF(operands);
    Py_DECREF(result);
    return right;
}

static PyObject *
compute(Call *call)
{
    const CallPlan *plan = call->plan;
    PyObject *result = NULL;
    if (plan->loops[0] != NULL || plan->loops[1] != NULL) {
        result = run_loop(plan, call->arrays[0]);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    if (plan->short_kernel != NULL) {
        result = plan->short_kernel(call);
        if (result != NULL || PyErr_Occurred()) {
            call->kernel_failed = result == NULL;
            return result;
        }
    }
    return call->has_options ? NULL : run_quietly(call, NULL);
}

PyObject *
run_kernel(Call *call)
{
    return settle(call, compute(call));
}

/* The ufunc writes into an array itself. */
PyObject *
run_ufunc_into(Call *call, PyObject *target)
{
    return run_quietly(call, target);
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

/* `enter_quiet` is the `set` of a context variable where NumPy has one; then C can do the same. */
static int
start(void)
{
    Py_CLEAR(error_mode_variable);
    PyObject *variable = PyObject_GetAttrString(objects.enter_quiet, "__self__");
    if (variable != NULL && PyContextVar_CheckExact(variable) && objects.QUIET != Py_None) {
        error_mode_variable = variable;
        return 0;
    }
    Py_XDECREF(variable);
    PyErr_Clear();
    return 0;
}

static const Wanted wanted[] = {
    {"asarray", &asarray},
    {"settled", &settled},
    {NULL, NULL},
};

const Part kernel_part = {.wanted = wanted, .start = start};
