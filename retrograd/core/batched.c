/* `vmap` where one call of it is the only rare mode: ops on batched tensors.
 *
 * `transforms.batched` is the definition. Here an op with one result that is no view finds its operands, gets its history,
 * and is run as well if it is elementwise and the batch is the first dimension of every operand that has it: then the op
 * itself, on the physical tensors, does for all examples. The batching rules of other ops are Python's.
 */
#include "caller.h"

#include <structmember.h>

static struct {
    Py_ssize_t batch_dim, level, physical, seen;
} in_batched;

static PyTypeObject *batched_type;    /* transforms.batched, with what follows */
static PyObject *run_rule, *general;  /* `batched` and `batched_shortcut` */
static PyObject *record_in_python;    /* for results that are saved themselves, or of another dtype */
static PyObject *lines_up, *view_op;  /* whether an op has the rule of elementwise ones; the op `view` */
static npy_intp batch_size = -1;      /* of the only call of `vmap` in the process; -1: there is none, or there are several */
static unsigned long batch_thread;    /* whose it is */
static PyObject *name_plan;

int
is_batched_call(const CallPlan *plan)
{
    return batch_size >= 0 && plan->form == FORM_SINGLE
           && PyDict_GetItemWithError(objects.HOT, objects.name_UNUSUAL) == objects.one
           && batch_thread == PyThread_get_thread_ident();
}

PyObject *
owner_of_cell(PyObject *value)
{
    PyObject *owner = batched_type != NULL && Py_TYPE(value) == batched_type ? SLOT(value, in_batched.physical) : value;
    return owner != NULL && is_tensor(owner) ? owner : NULL;
}

/* ---- operands ----------------------------------------------------------------------------------------------- */

/* The operands of a call. References are borrowed from its values. */
typedef struct {
    PyObject *physical[MOST_TENSORS]; /* with all examples, or a tensor without the batch; NULL for a number or None */
    int dim[MOST_TENSORS];            /* of the batch; -1: it has none */
    int count;                        /* how many have the batch */
    int requires;                     /* an operand requires grad, here or outside */
} Batch;

/* One that has the batch; 0 where it is Python's. */
static int
read_batched(Call *call, Batch *batch, int index, PyObject *value)
{
    PyObject *physical = SLOT(value, in_batched.physical), *dim = SLOT(value, in_batched.batch_dim);
    PyObject *view = SLOT(value, in_tensor.view), *flag = SLOT(value, in_tensor.requires_grad);
    if (physical == NULL || !is_tensor(physical) || !is_usual_tensor(call, physical) || view == NULL || dim == NULL
        || SLOT(value, in_batched.level) != objects.one || !PyLong_CheckExact(dim) || SLOT(value, in_tensor.cut) == NULL
        || SLOT(value, in_tensor.grad_fn) == NULL || SLOT(value, in_tensor.output_nr) == NULL) {
        return 0;
    }
    PyObject *cell = SLOT(physical, in_tensor.cell), *array = SLOT(physical, in_tensor.array);
    if (cell == objects.INFERENCE_CELL || (view != Py_None && !is_usual_view(call, value, view, cell))) {
        return 0;
    }
    flag = SLOT(value, in_tensor.requires_grad);
    const long place = PyLong_AsLong(dim);
    if ((flag != Py_True && flag != Py_False) || place < 0 || place >= PyArray_NDIM(ARRAY(array))
        || PyArray_DIM(ARRAY(array), place) != batch_size) {
        return 0; /* of another call */
    }
    batch->physical[index] = physical;
    batch->dim[index] = (int)place;
    batch->count++;
    batch->requires |= flag == Py_True;
    call->needs[index] = flag == Py_True;
    return 1;
}

/* 1; 0 where the call is Python's; -1 with an error set. Nothing is held. */
static int
read_batch(Call *call, Batch *batch)
{
    const CallPlan *plan = call->plan;
    call->enabled = grad_is_enabled();
    if (call->enabled < 0) {
        return -1;
    }
    for (int index = 0; index < plan->tensor_count; index++) {
        PyObject *value = call->values[plan->tensor_places[index]];
        call->needs[index] = 0;
        batch->physical[index] = NULL;
        batch->dim[index] = -1;
        if (Py_TYPE(value) == batched_type) {
            if (!read_batched(call, batch, index, value)) {
                return 0;
            }
        }
        else if (is_tensor(value)) {
            if (!is_usual_tensor(call, value) || SLOT(value, in_tensor.cell) == objects.INFERENCE_CELL) {
                return 0;
            }
            batch->physical[index] = value;
            batch->requires |= SLOT(value, in_tensor.requires_grad) == Py_True;
        }
        else if (index == 0 || !is_usual_stranger(plan->parameters[plan->tensor_places[index]].takes, value)) {
            return 0;
        }
        if (batch->physical[index] != NULL) {
            PyArray_Descr *dtype = PyArray_DESCR(ARRAY(SLOT(batch->physical[index], in_tensor.array)));
            if (!is_usual_dtype(call, index, dtype)) {
                return 0;
            }
            if (index == 0) {
                call->dtype = dtype;
            }
        }
    }
    call->wanted = 0;
    for (int edge = 0; plan->has_rules && edge < plan->edge_count; edge++) {
        call->wanted |= call->needs[plan->edges[edge]];
    }
    return 1;
}

/* ---- ops on physical tensors -------------------------------------------------------------------------------- */

/* Adds to the count of rare modes: this thread's `vmap` is taken back while an op runs on ordinary tensors. */
static int
count_unusual(long change)
{
    PyObject *before = PyDict_GetItemWithError(objects.HOT, objects.name_UNUSUAL);
    PyObject *after = before == NULL ? NULL : PyLong_FromLong(PyLong_AsLong(before) + change);
    const int failed = after == NULL || PyDict_SetItem(objects.HOT, objects.name_UNUSUAL, after) < 0;
    Py_XDECREF(after);
    return failed ? -1 : 0;
}

/* The op on ordinary tensors; NULL without an error set where the call is Python's. */
static PyObject *
run_plain(Call *call)
{
    PyObject *result = NULL;
    if (count_unusual(-1) < 0) {
        return NULL;
    }
    if (read_operands(call) > 0) {
        result = call_single(call);
        release_operands(call);
    }
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    const int failed = count_unusual(1);
    if (failed < 0) {
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(trace);
        Py_CLEAR(result);
        return NULL;
    }
    PyErr_Restore(type, error, trace);
    return result;
}

/* A physical tensor with dimensions of size 1 between the batch and the rest, as many as there are in `rank`; by the op
 * `view`, since whoever saves it must see writes to it. A new reference. */
static PyObject *
with_rank(PyObject *tensor, int rank)
{
    PyArrayObject *array = ARRAY(SLOT(tensor, in_tensor.array));
    const int missing = rank - PyArray_NDIM(array);
    npy_intp shape[NPY_MAXDIMS];
    shape[0] = PyArray_DIM(array, 0);
    for (int axis = 1; axis < rank; axis++) {
        shape[axis] = axis <= missing ? 1 : PyArray_DIM(array, axis - missing);
    }
    PyObject *size = int_tuple(rank, shape), *view = NULL;
    if (size != NULL && count_unusual(-1) == 0) {
        view = PyObject_CallFunctionObjArgs(view_op, tensor, size, NULL);
        if (count_unusual(1) < 0) {
            Py_CLEAR(view);
        }
    }
    Py_XDECREF(size);
    return view;
}

/* An elementwise op on all examples; NULL without an error set where it is Python's. */
static PyObject *
run_in_line(const Call *call, const Batch *batch)
{
    const CallPlan *plan = call->plan;
    Call inner = *call;
    int rank = 0;
    for (int index = 0; index < plan->tensor_count; index++) {
        if (batch->physical[index] == NULL) {
            continue;
        }
        PyArrayObject *array = ARRAY(SLOT(batch->physical[index], in_tensor.array));
        const int own = PyArray_NDIM(array) + (batch->dim[index] < 0);
        if (batch->dim[index] > 0 || PyArray_DESCR(array) != call->dtype || own > NPY_MAXDIMS) {
            return NULL;
        }
        rank = own > rank ? own : rank;
    }
    PyObject *made[MOST_TENSORS] = {NULL}, *result = NULL;
    int failed = 0;
    for (int index = 0; index < plan->tensor_count && !failed; index++) {
        if (batch->dim[index] == 0) {
            PyObject *tensor = batch->physical[index];
            if (PyArray_NDIM(ARRAY(SLOT(tensor, in_tensor.array))) < rank) {
                tensor = made[index] = with_rank(tensor, rank);
                failed = tensor == NULL;
            }
            inner.values[plan->tensor_places[index]] = tensor;
        }
    }
    if (!failed) {
        result = run_plain(&inner);
        failed = result == NULL;
    }
    if (failed && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear(); /* the Python rule does it again, and explains */
    }
    for (int index = 0; index < plan->tensor_count; index++) {
        Py_XDECREF(made[index]);
    }
    return result;
}

/* A batched tensor around a physical one: `rewrap`. Takes the reference. */
static PyObject *
wrap_batch(PyObject *physical)
{
    PyObject *tensor = physical == NULL ? NULL : batched_type->tp_alloc(batched_type, 0);
    if (tensor != NULL) {
        slot_fill(tensor, in_batched.physical, physical);
        slot_fill(tensor, in_batched.batch_dim, objects.zero);
        slot_fill(tensor, in_batched.level, objects.one);
        slot_fill(tensor, in_batched.seen, Py_None);
        slot_fill(tensor, in_tensor.requires_grad, Py_False);
        slot_fill(tensor, in_tensor.grad_fn, Py_None);
        slot_fill(tensor, in_tensor.output_nr, objects.zero);
        slot_fill(tensor, in_tensor.view, Py_None);
        slot_fill(tensor, in_tensor.cut, Py_None);
        slot_fill(tensor, in_tensor.meta, Py_None);
    }
    Py_XDECREF(physical);
    return tensor;
}

/* ---- what Python does --------------------------------------------------------------------------------------- */

static PyObject *
arguments_of(const Call *call)
{
    PyObject *arguments = PyTuple_New(call->plan->parameter_count);
    for (int place = 0; arguments != NULL && place < call->plan->parameter_count; place++) {
        PyTuple_SET_ITEM(arguments, place, Py_NewRef(call->values[place]));
    }
    return arguments;
}

static PyObject *
operands_of(const Call *call)
{
    PyObject *operands = PyList_New(call->plan->tensor_count);
    for (int index = 0; operands != NULL && index < call->plan->tensor_count; index++) {
        PyList_SET_ITEM(operands, index, Py_NewRef(call->values[call->plan->tensor_places[index]]));
    }
    return operands;
}

/* The op's batching rule; its result is a batched tensor. */
static PyObject *
call_rule(const Call *call)
{
    PyObject *arguments = arguments_of(call), *operands = operands_of(call), *results = NULL, *result = NULL;
    if (arguments != NULL && operands != NULL) {
        results = PyObject_CallFunctionObjArgs(run_rule, objects.one, call->plan->op, arguments, operands, NULL);
    }
    if (results != NULL && PyList_CheckExact(results) && PyList_GET_SIZE(results) == 1
        && Py_TYPE(PyList_GET_ITEM(results, 0)) == batched_type) {
        result = Py_NewRef(PyList_GET_ITEM(results, 0));
    }
    else if (results != NULL) {
        PyErr_SetString(PyExc_SystemError, "a batching rule gave something else than one tensor");
    }
    Py_XDECREF(results);
    Py_XDECREF(arguments);
    Py_XDECREF(operands);
    return result;
}

/* All of a call by Python; NULL without an error set where that needs the general path. */
static PyObject *
call_general(const Call *call)
{
    PyObject *arguments = arguments_of(call), *plan = PyObject_GetAttr(call->plan->op, name_plan), *result = NULL;
    if (arguments != NULL && plan != NULL) {
        result = PyObject_CallFunctionObjArgs(general, call->plan->op, plan, arguments, NULL);
    }
    Py_XDECREF(arguments);
    Py_XDECREF(plan);
    if (result == Py_None) {
        Py_CLEAR(result);
    }
    return result;
}

/* ---- history ------------------------------------------------------------------------------------------------ */

/* One example of an array, for its facts; a new reference. */
static PyObject *
example_of(PyObject *object, int dim)
{
    PyArrayObject *array = ARRAY(object);
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int rank = 0;
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        if (axis != dim) {
            shape[rank] = PyArray_DIM(array, axis);
            strides[rank++] = PyArray_STRIDE(array, axis);
        }
    }
    return view_from(array, PyArray_BYTES(array), rank, shape, strides);
}

/* Fills the call's arrays with what the facts that rules read are of; new references, NULL with an error set. */
static int
find_facts(Call *call, const Batch *batch)
{
    for (int index = 0; index < call->plan->tensor_count; index++) {
        PyObject *tensor = batch->physical[index];
        PyObject *array = tensor == NULL ? call->values[call->plan->tensor_places[index]] : SLOT(tensor, in_tensor.array);
        call->arrays[index] = batch->dim[index] < 0 ? Py_NewRef(array) : example_of(array, batch->dim[index]);
        if (call->arrays[index] == NULL) {
            while (--index >= 0) {
                Py_DECREF(call->arrays[index]);
            }
            return -1;
        }
    }
    return 0;
}

/* Where the path to a result without history was cut: `recording.pass_on_cut`. A new reference. */
static PyObject *
cut_behind(const Call *call, const Batch *batch)
{
    const CallPlan *plan = call->plan;
    if (batch->requires) {
        Call cut = *call;
        cut.wanted = 1;
        return cut_of(&cut);
    }
    for (int index = 0; index < plan->tensor_count; index++) {
        PyObject *value = call->values[plan->tensor_places[index]];
        if (batch->physical[index] != NULL && slot_given(value, in_tensor.cut)) {
            return Py_NewRef(SLOT(value, in_tensor.cut));
        }
    }
    return Py_NewRef(Py_None);
}

static int
saves_output(const CallPlan *plan)
{
    for (int index = 0; index < plan->save_count; index++) {
        if (plan->saves[index].kind == SAVES_OUTPUT) {
            return 1;
        }
    }
    return 0;
}

static int
call_record(const Call *call, PyObject *tensor)
{
    PyObject *arguments = arguments_of(call), *operands = operands_of(call), *done = NULL;
    if (arguments != NULL && operands != NULL) {
        done = PyObject_CallFunctionObjArgs(record_in_python, call->plan->op, arguments, operands, tensor, NULL);
    }
    Py_XDECREF(arguments);
    Py_XDECREF(operands);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* The node of a result, whose example is `example`. */
static int
give_node(Call *call, const Batch *batch, PyObject *tensor, PyObject *example)
{
    PyObject *node = new_node(call->plan, shape_of(example), Py_NewRef((PyObject *)call->dtype));
    if (node == NULL || find_facts(call, batch) < 0) {
        Py_XDECREF(node);
        return -1;
    }
    const int failed = fill_node(call, node, &example, &tensor) < 0;
    release_operands(call);
    if (failed) {
        Py_DECREF(node);
        return -1;
    }
    Py_SETREF(SLOT(tensor, in_tensor.grad_fn), node);
    slot_set(tensor, in_tensor.requires_grad, Py_True);
    return 0;
}

static int
give_history(Call *call, const Batch *batch, PyObject *tensor)
{
    if (!call->wanted || !call->enabled) {
        PyObject *cut = cut_behind(call, batch);
        if (cut == NULL) {
            return -1;
        }
        Py_SETREF(SLOT(tensor, in_tensor.cut), cut);
        return 0;
    }
    PyObject *physical = SLOT(tensor, in_batched.physical);
    PyObject *array = is_tensor(physical) ? SLOT(physical, in_tensor.array) : NULL;
    if (array == NULL || !PyArray_CheckExact(array) || PyArray_DESCR(ARRAY(array)) != call->dtype
        || PyArray_NDIM(ARRAY(array)) == 0 || (call->dtype != objects.F32 && call->dtype != objects.F64)
        || saves_output(call->plan)) {
        return call_record(call, tensor);
    }
    PyObject *example = example_of(array, 0);
    if (example == NULL) {
        return -1;
    }
    const int done = give_node(call, batch, tensor, example);
    Py_DECREF(example);
    return done;
}

/* ---- the call ----------------------------------------------------------------------------------------------- */

/* Whether the op has the rule of elementwise ones: 1 or 0; -1 with an error set. Asked once. */
static int
is_in_line(CallPlan *plan)
{
    if (plan->lines_up == 0) {
        PyObject *answer = PyObject_CallOneArg(lines_up, plan->op);
        if (answer == NULL) {
            return -1;
        }
        plan->lines_up = answer == Py_True ? 1 : -1;
        Py_DECREF(answer);
    }
    return plan->lines_up > 0;
}

PyObject *
call_batched(Call *call)
{
    Batch batch = {.count = 0};
    if (read_batch(call, &batch) <= 0) {
        return NULL;
    }
    if (batch.count == 0) {
        return run_plain(call);
    }
    if (call->plan->is_view) {
        return call_general(call);
    }
    const int in_line = is_in_line((CallPlan *)call->plan);
    PyObject *tensor = in_line > 0 ? wrap_batch(run_in_line(call, &batch)) : NULL;
    if (tensor == NULL && !PyErr_Occurred()) {
        tensor = call_rule(call);
    }
    if (tensor != NULL && give_history(call, &batch, tensor) < 0) {
        Py_CLEAR(tensor);
    }
    return tensor;
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

static PyObject *
core_use_batches(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const Slot slots[] = {
        {"_batch_dim", &in_batched.batch_dim},
        {"_level", &in_batched.level},
        {"_physical", &in_batched.physical},
        {"_seen", &in_batched.seen},
        {NULL, NULL},
    };
    PyObject *type, *rule, *shortcut, *record, *line, *view;
    if (!PyArg_ParseTuple(arguments, "O!OOOOO", &PyType_Type, &type, &rule, &shortcut, &record, &line, &view)
        || find_slots((PyTypeObject *)type, slots) < 0) {
        return NULL;
    }
    Py_XSETREF(run_rule, Py_NewRef(rule));
    Py_XSETREF(general, Py_NewRef(shortcut));
    Py_XSETREF(record_in_python, Py_NewRef(record));
    Py_XSETREF(lines_up, Py_NewRef(line));
    Py_XSETREF(view_op, Py_NewRef(view));
    Py_XSETREF(name_plan, PyUnicode_InternFromString("plan"));
    if (name_plan == NULL) {
        return NULL;
    }
    Py_XSETREF(batched_type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

void
only_batch(Py_ssize_t size)
{
    batch_thread = PyThread_get_thread_ident();
    batch_size = batched_type == NULL ? -1 : size;
}

static PyMethodDef methods[] = {
    {"use_batches", core_use_batches, METH_VARARGS, "use_batches(...): takes the objects of vmap."},
    {NULL, NULL, 0, NULL},
};

const Part batched_part = {.methods = methods};
