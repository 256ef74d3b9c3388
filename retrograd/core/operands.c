/* The arguments of a call: which parameter each is for, and whether the operands are such as the usual way takes.
 *
 * Nothing here changes anything (but the flag of a view, which is always right to bring up to date), so a call that
 * turns out to be unusual starts again in Python.
 */
#include "caller.h"

/* ---- parameters --------------------------------------------------------------------------------------------- */

/* The place of a keyword argument; -1 if it is unknown here, -2 if it is `out`. */
static int
place_of(const CallPlan *plan, PyObject *name)
{
    for (int place = 0; place < plan->parameter_count; place++) {
        if (plan->parameters[place].name == name) {
            return place;
        }
    }
    for (int index = 0; index < plan->alias_count; index++) {
        if (plan->aliases[index].name == name) {
            return plan->aliases[index].place < 0 ? -2 : plan->aliases[index].place;
        }
    }
    return -1;
}

int
bind_arguments(Call *call, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords)
{
    const CallPlan *plan = call->plan;
    if (count > plan->positional_count) {
        return 0; /* an older order of the arguments, or an error */
    }
    for (int place = 0; place < plan->parameter_count; place++) {
        call->values[place] = NULL;
    }
    for (int index = 0; index < (int)count; index++) {
        call->values[plan->positional_places[index]] = arguments[index];
    }
    const Py_ssize_t named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    if (named && plan->is_operator) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < named; index++) {
        const int place = place_of(plan, PyTuple_GET_ITEM(keywords, index));
        if (place == -2 && arguments[count + index] == Py_None) {
            continue;
        }
        if (place < 0 || call->values[place] != NULL) {
            return 0; /* unknown, given twice, or a name that is spelled in another string object */
        }
        call->values[place] = arguments[count + index];
    }
    for (int place = 0; place < plan->parameter_count; place++) {
        if (call->values[place] == NULL) {
            call->values[place] = plan->parameters[place].initial;
            if (call->values[place] == NULL) {
                return 0;
            }
        }
    }
    if (plan->ufunc != NULL) {
        /* it is the kernel only when every option has its default */
        for (int index = 0; index < plan->option_count; index++) {
            const int place = plan->option_places[index];
            call->has_options |= call->values[place] != plan->parameters[place].initial;
        }
    }
    return !call->has_options || plan->short_kernel != NULL;
}

/* ---- tensors ------------------------------------------------------------------------------------------------ */

static int
same_number(PyObject *left, PyObject *right)
{
    return left == right
           || (left != NULL && right != NULL && PyLong_CheckExact(left) && PyLong_CheckExact(right)
               && PyObject_RichCompareBool(left, right, Py_EQ) == 1);
}

/* Whether a view of a storage that was written since the last look is right as it is: it has no history to renew. */
static int
needs_no_renewal(const Call *call, PyObject *tensor, PyObject *base)
{
    if (!call->enabled) {
        return 1;
    }
    PyObject *meta = SLOT(base, in_tensor.meta);
    return SLOT(tensor, in_tensor.grad_fn) == Py_None && SLOT(base, in_tensor.requires_grad) == Py_False
           && meta == Py_None; /* a base with one may have changed its geometry */
}

/* Brings a view's flag up to date, as `views.refresh` does; 0 where its history must be renewed. */
int
is_usual_view(const Call *call, PyObject *tensor, PyObject *view, PyObject *cell)
{
    PyObject *base = SLOT(view, in_view.base), *own = SLOT(view, in_view.own);
    if (Py_TYPE(view) != objects.ViewInfo || Py_TYPE(cell) != objects.VersionCell || base == NULL
        || !PyObject_TypeCheck(base, objects.Tensor) || own == NULL
        || !(same_number(SLOT(view, in_view.at), SLOT(cell, in_cell.version)) || needs_no_renewal(call, tensor, base))) {
        return 0;
    }
    if (SLOT(tensor, in_tensor.grad_fn) != Py_None) {
        return 1;
    }
    PyObject *flag = own == Py_True ? own : SLOT(base, in_tensor.requires_grad);
    if ((flag != Py_True && flag != Py_False) || (flag == Py_True && own != Py_True && call->plan->saves_input)) {
        return 0; /* requires grad but has no history: what is saved then, the general path knows */
    }
    slot_set(tensor, in_tensor.requires_grad, flag);
    return 1;
}

int
is_usual_tensor(const Call *call, PyObject *tensor)
{
    PyObject *array = SLOT(tensor, in_tensor.array), *cell = SLOT(tensor, in_tensor.cell);
    PyObject *view = SLOT(tensor, in_tensor.view), *flag = SLOT(tensor, in_tensor.requires_grad);
    if (array == NULL || !PyArray_CheckExact(array) || cell == NULL
        || (cell != Py_None && Py_TYPE(cell) != objects.VersionCell) || SLOT(tensor, in_tensor.grad_fn) == NULL
        || SLOT(tensor, in_tensor.output_nr) == NULL || SLOT(tensor, in_tensor.cut) == NULL || view == NULL
        || SLOT(tensor, in_tensor.meta) == NULL || (flag != Py_True && flag != Py_False)) {
        return 0;
    }
    return view == Py_None || is_usual_view(call, tensor, view, cell);
}

/* Whether a dtype may stand beside that of the first operand. */
int
is_usual_dtype(const Call *call, int index, PyArray_Descr *dtype)
{
    if (index == 0) {
        return call->plan->any_dtype || dtype == objects.F32 || dtype == objects.F64;
    }
    if (dtype == call->dtype) {
        return 1;
    }
    /* an index or a mask: not differentiable, so its dtype does not choose the node */
    return !call->plan->alike[index] && (dtype == objects.I64 || dtype == objects.B8);
}

int
is_usual_stranger(Takes takes, PyObject *value)
{
    if (value == Py_None) {
        return takes == TAKES_OPTIONAL || takes == TAKES_OPTIONAL_OPERAND;
    }
    return (takes == TAKES_OPERAND || takes == TAKES_OPTIONAL_OPERAND)
           && (PyFloat_CheckExact(value) || PyLong_CheckExact(value));
}

int
read_operands(Call *call)
{
    const CallPlan *plan = call->plan;
    call->enabled = grad_is_enabled(); /* first: from here on nothing runs that could change a tensor */
    if (call->enabled < 0) {
        return -1;
    }
    call->dtype = NULL;
    for (int index = 0; index < plan->tensor_count; index++) {
        PyObject *value = call->values[plan->tensor_places[index]];
        call->needs[index] = 0;
        if (is_tensor(value)) {
            if (!is_usual_tensor(call, value)) {
                return 0;
            }
            call->arrays[index] = SLOT(value, in_tensor.array);
            PyArray_Descr *dtype = PyArray_DESCR(ARRAY(call->arrays[index]));
            if (!is_usual_dtype(call, index, dtype)) {
                return 0;
            }
            if (index == 0) {
                call->dtype = dtype;
            }
            call->needs[index] = SLOT(value, in_tensor.requires_grad) == Py_True;
        }
        else if (index > 0 && is_usual_stranger(plan->parameters[plan->tensor_places[index]].takes, value)) {
            call->arrays[index] = value;
        }
        else {
            return 0;
        }
    }
    call->wanted = 0;
    for (int index = 0; index < (plan->has_rules ? plan->edge_count : plan->tensor_count); index++) {
        call->wanted |= call->needs[plan->has_rules ? plan->edges[index] : index];
    }
    for (int index = 0; index < plan->tensor_count; index++) {
        Py_INCREF(call->arrays[index]);
    }
    return 1;
}

void
release_operands(Call *call)
{
    for (int index = 0; index < call->plan->tensor_count; index++) {
        Py_DECREF(call->arrays[index]);
    }
}
