/* Ops with one result. */
#include "caller.h"

/* The history of a result: a node, or where the path to it was cut. */
static int
give_history(Call *call, PyObject *tensor, PyObject *result)
{
    const CallPlan *plan = call->plan;
    if (!(plan->has_rules && call->wanted && call->enabled)) {
        PyObject *cut = cut_of(call);
        if (cut == NULL) {
            return -1;
        }
        Py_SETREF(SLOT(tensor, in_tensor.cut), cut);
        return 0;
    }
    PyObject *node = new_node(plan, shape_of(result), Py_NewRef((PyObject *)call->dtype));
    if (node == NULL) {
        return -1;
    }
    if (fill_node(call, node, &result, &tensor) < 0) {
        Py_DECREF(node);
        return -1;
    }
    Py_SETREF(SLOT(tensor, in_tensor.grad_fn), node);
    slot_set(tensor, in_tensor.requires_grad, Py_True);
    return 0;
}

PyObject *
call_single(Call *call)
{
    const CallPlan *plan = call->plan;
    PyObject *result = run_kernel(call);
    if (plan->loud) {
        result = as_plain_array(result);
    }
    if (result == NULL) {
        return NULL;
    }
    if (!PyArray_CheckExact(result) || (plan->ufunc == NULL && plan->has_rules && PyArray_DESCR(ARRAY(result)) != call->dtype)) {
        Py_DECREF(result);
        call->is_dual = 0;
        return call_dispatch(call); /* a kernel that changes the dtype may need another kind of node */
    }
    PyObject *tensor = new_tensor(result);
    if (tensor == NULL || give_history(call, tensor, result) < 0
        || (plan->is_view && make_view(call, tensor, Py_None, options_of(call)) < 0)) {
        Py_XDECREF(tensor);
        tensor = NULL;
    }
    Py_DECREF(result);
    return tensor;
}
