/* Ops in place, `x.add_(y)` and `x -= y`: what `calling.dispatch_inplace` does, for targets that may plainly be written.
 *
 * Whatever PyTorch forbids, and whatever gives a view's base a new history, is Python's. The result is computed, then
 * the node made, then the target written: until then nothing has changed.
 */
#include "caller.h"
#include "engine.h"

/* From here on a ufunc without a node writes straight into the target: a new array would cost more than the call. */
#define LARGE_TARGET 16384

/* ---- what may be written ------------------------------------------------------------------------------------ */

static int
has_own_places(PyArrayObject *array)
{
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        if (PyArray_STRIDE(array, axis) == 0) {
            return 0; /* expanded: its elements may share memory */
        }
    }
    return 1;
}

/* Another part of the storage among the operands: whether the two overlap, Python finds out. */
static int
meets_itself(const Call *call, PyObject *target)
{
    PyObject *cell = SLOT(target, in_tensor.cell);
    for (int index = 1; cell != Py_None && index < call->plan->tensor_count; index++) {
        PyObject *value = call->values[call->plan->tensor_places[index]];
        if (value != target && is_tensor(value) && SLOT(value, in_tensor.cell) == cell) {
            return 1;
        }
    }
    return 0;
}

/* Numbers beside the target: for one that is not finite in its dtype an op may have its own answer. */
static int
numbers_fit(const Call *call)
{
    for (int index = 1; index < call->plan->tensor_count; index++) {
        PyObject *value = call->arrays[index];
        double number;
        if (value != Py_None && !PyArray_CheckExact(value) && !fits_dtype(value, call->dtype, &number)) {
            return 0;
        }
    }
    return 1;
}

static int
any_needs(const Call *call)
{
    for (int index = 0; index < call->plan->tensor_count; index++) {
        if (call->needs[index]) {
            return 1;
        }
    }
    return 0;
}

/* A tensor whose new history is a node: no view, no leaf that requires grad, nothing that follows the old history. */
static int
may_get_history(const Call *call, PyObject *target)
{
    return call->plan->has_rules && call->wanted && (call->dtype == objects.F32 || call->dtype == objects.F64)
           && SLOT(target, in_tensor.view) == Py_None && SLOT(target, in_tensor.meta) == Py_None
           && (!call->needs[0] || SLOT(target, in_tensor.grad_fn) != Py_None);
}

/* ---- history ------------------------------------------------------------------------------------------------ */

/* Whether a rule that will run reads what the target was before. */
static int
keeps_target(const Call *call)
{
    const CallPlan *plan = call->plan;
    for (int index = 0; index < plan->save_count; index++) {
        const Save *save = &plan->saves[index];
        if (save->kind != SAVES_INPUT || save->source != 0) {
            continue;
        }
        for (int position = 0; position < plan->edge_count; position++) {
            if (save->always || ((save->readers >> position & 1) && call->needs[plan->edges[position]])) {
                return 1;
            }
        }
    }
    return 0;
}

/* The target as it is, with its history: `recording._copy_before_write`. */
static PyObject *
copy_before_write(PyObject *target, PyObject *array)
{
    PyObject *copied = PyArray_NewCopy(ARRAY(array), NPY_KEEPORDER);
    PyObject *copy = copied == NULL ? NULL : new_tensor(copied);
    Py_XDECREF(copied);
    if (copy != NULL) {
        slot_set(copy, in_tensor.grad_fn, SLOT(target, in_tensor.grad_fn));
        slot_set(copy, in_tensor.output_nr, SLOT(target, in_tensor.output_nr));
        slot_set(copy, in_tensor.requires_grad, SLOT(target, in_tensor.requires_grad));
    }
    return copy;
}

/* The node of a write that is about to happen; saved outputs are still missing. */
static PyObject *
node_of_write(Call *call, PyObject *result)
{
    PyObject *target = call->values[0], *copy = NULL;
    if (keeps_target(call)) {
        copy = copy_before_write(target, call->arrays[0]);
        if (copy == NULL) {
            return NULL;
        }
        call->values[0] = copy;
    }
    PyObject *node = new_node(call->plan, shape_of(result), Py_NewRef((PyObject *)call->dtype));
    if (node != NULL && fill_node(call, node, &result, NULL) < 0) {
        Py_CLEAR(node);
    }
    call->values[0] = target;
    Py_XDECREF(copy);
    return node;
}

/* The target itself, at the version that it has now, where a rule reads the output. */
static void
save_target(const CallPlan *plan, PyObject *node, PyObject *target)
{
    PyObject *saved = SLOT(node, in_node.saved), *cell = SLOT(target, in_tensor.cell);
    int start = 0;
    for (int index = 0; index < plan->save_count; index++) {
        const Saves kind = plan->saves[index].kind;
        if (kind == SAVES_OUTPUT) {
            PyObject *const values[3] = {SLOT(target, in_tensor.array), cell, SLOT(cell, in_cell.version)};
            for (int place = 0; place < 3; place++) {
                Py_DECREF(PyTuple_GET_ITEM(saved, start + place));
                PyTuple_SET_ITEM(saved, start + place, Py_NewRef(values[place]));
            }
        }
        start += kind == SAVES_OUTPUT ? 3 : kind == SAVES_INPUT ? 2 : 1;
    }
}

/* Where the path through a target without history was cut: `recording.pass_on_cut`. */
static int
pass_on_cut(const Call *call, PyObject *target)
{
    PyObject *cut = NULL;
    if (any_needs(call)) { /* then gradients are off */
        cut = PyObject_GetAttr(objects.STATE, objects.name_cut);
        if (cut == NULL) {
            return -1;
        }
    }
    for (int index = 0; cut == NULL && index < call->plan->tensor_count; index++) {
        PyObject *value = call->values[call->plan->tensor_places[index]];
        if (is_tensor(value) && slot_given(value, in_tensor.cut)) {
            cut = Py_NewRef(SLOT(value, in_tensor.cut));
        }
    }
    slot_set(target, in_tensor.cut, cut == NULL ? Py_None : cut);
    Py_XDECREF(cut);
    return 0;
}

/* ---- writing ------------------------------------------------------------------------------------------------ */

int
write_array(PyObject *target, PyObject *source)
{
    if (PyArray_IS_C_CONTIGUOUS(ARRAY(target)) && PyArray_IS_C_CONTIGUOUS(ARRAY(source))
        && PyArray_DESCR(ARRAY(target)) == PyArray_DESCR(ARRAY(source)) && has_shape_of(target, source)) {
        memmove(PyArray_DATA(ARRAY(target)), PyArray_DATA(ARRAY(source)), (size_t)PyArray_NBYTES(ARRAY(target)));
        return 0;
    }
    return PyArray_CopyInto(ARRAY(target), ARRAY(source));
}

int
count_write_here(PyObject *target, PyObject *writer)
{
    PyObject *code, *instruction;
    if (user_site(&code, &instruction) < 0) {
        return -1;
    }
    const int failed = count_write(target, writer, code, instruction);
    Py_DECREF(code);
    Py_DECREF(instruction);
    return failed;
}

static int
finish_write(Call *call, PyObject *target, PyObject *writer, PyObject *node)
{
    if (count_write_here(target, writer) < 0) {
        return -1;
    }
    if (node == NULL) {
        return SLOT(target, in_tensor.requires_grad) == Py_True ? 0 : pass_on_cut(call, target);
    }
    save_target(call->plan, node, target);
    slot_set(target, in_tensor.output_nr, objects.zero);
    slot_set(target, in_tensor.requires_grad, Py_True);
    slot_set(target, in_tensor.cut, Py_None);
    slot_set(target, in_tensor.grad_fn, node);
    return 0;
}

/* 1: the target was written by the op's ufunc; 0: not a case for it; -1 with an error set. */
static int
write_large(Call *call)
{
    const CallPlan *plan = call->plan;
    if (plan->ufunc == NULL || call->has_options || PyArray_SIZE(ARRAY(call->arrays[0])) < LARGE_TARGET) {
        return 0;
    }
    PyObject *result = run_ufunc_into(call, call->arrays[0]);
    if (result == NULL) {
        return -1;
    }
    Py_DECREF(result);
    return 1;
}

/* NULL without an error set: the call is Python's, and nothing was changed. */
PyObject *
call_in_place(Call *call, PyObject *writer)
{
    const CallPlan *plan = call->plan;
    PyObject *target = call->values[0], *array = call->arrays[0];
    const int tracked = call->enabled && any_needs(call);
    if (plan->tensor_places[0] != 0 || !PyArray_ISWRITEABLE(ARRAY(array)) || !has_own_places(ARRAY(array))
        || meets_itself(call, target) || !numbers_fit(call) || (tracked && !may_get_history(call, target))
        || !run_check(call)) {
        return NULL;
    }
    int written = tracked ? 0 : write_large(call);
    PyObject *node = NULL, *result = NULL;
    if (!written) {
        result = run_kernel(call);
        if (plan->loud) {
            result = as_plain_array(result);
        }
        if (result == NULL || !PyArray_CheckExact(result) || PyArray_DESCR(ARRAY(result)) != call->dtype
            || !has_shape_of(result, array)) {
            Py_XDECREF(result);
            return NULL; /* an error, or a result that does not fit: Python says so */
        }
        node = tracked ? node_of_write(call, result) : NULL;
        written = (tracked && node == NULL) || write_array(array, result) < 0 ? -1 : 1;
    }
    const int failed = written < 0 || finish_write(call, target, writer, node) < 0;
    Py_XDECREF(result);
    Py_XDECREF(node);
    return failed ? NULL : Py_NewRef(target);
}
