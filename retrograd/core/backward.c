/* Entering a backward call: what is set for its duration, and `tensor.backward()` with ordinary arguments.
 *
 * Between two calls of Python functions nothing here can be interrupted, so the modes and their counts are always
 * changed and restored together; whatever a walk raises, the end of `guarded_walk` is reached.
 */
#include "caller.h"
#include "engine.h"

static PyObject *start_of;       /* `engine._start`: where a call with several roots begins */
static PyObject *run_callbacks;  /* `engine._run_callbacks` */
static PyObject *set_saved_hooks;
static PyObject *active;         /* `accumulate.ACTIVE` */
static PyObject *ordinals;       /* the counter of backward calls */
static PyObject *growth_due;     /* engine.growth.due */
static Py_ssize_t look_at = 0;   /* the call at which it is asked */
static PyObject *name_calls, *name_call, *name_depth, *name_saved_hooks, *name_transforms, *name_dict;
static PyObject *kind_backward, *kind_grad, *no_tuple;
static PyObject *cut_type, *unused_input; /* `state.Cut`, `failures.unused_input` */

/* A backward call of this many levels, from hooks within hooks, continues on another stack: Python does that. */
#define DEEP 40

/* ---- this thread's modes ------------------------------------------------------------------------------------ */

/* What the thread has under a name, as a new reference: its own value, or the one of the class. */
static PyObject *
mode_of(PyObject *modes, PyObject *name)
{
    PyObject *own = PyDict_GetItemWithError(modes, name);
    if (own != NULL) {
        return Py_NewRef(own);
    }
    return PyErr_Occurred() ? NULL : PyObject_GetAttr(objects.STATE, name);
}

typedef struct {
    PyObject *modes; /* the dictionary of this thread's state */
    PyObject *call, *depth, *enabled, *cut, *hooks;
    PyObject *token; /* of NumPy's error mode */
    int is_open;
} Guard;

static void
guard_forget(Guard *guard)
{
    Py_CLEAR(guard->modes);
    Py_CLEAR(guard->call);
    Py_CLEAR(guard->depth);
    Py_CLEAR(guard->enabled);
    Py_CLEAR(guard->cut);
    Py_CLEAR(guard->hooks);
    Py_CLEAR(guard->token);
}

/* Reads what will have to be restored. 0, or -1 with an error set. */
static int
guard_read(Guard *guard)
{
    guard->modes = PyObject_GetAttr(objects.STATE, name_dict);
    if (guard->modes == NULL || !PyDict_Check(guard->modes)) {
        return -1;
    }
    guard->call = mode_of(guard->modes, name_call);
    guard->depth = mode_of(guard->modes, name_depth);
    guard->enabled = mode_of(guard->modes, objects.name_grad_enabled);
    guard->cut = mode_of(guard->modes, objects.name_cut);
    guard->hooks = mode_of(guard->modes, name_saved_hooks);
    return guard->call == NULL || guard->depth == NULL || guard->enabled == NULL || guard->cut == NULL
                   || guard->hooks == NULL
               ? -1
               : 0;
}

/* Adds to a number that is an attribute or a value of a dictionary. */
static int
count_calls(long change)
{
    PyObject *before = PyObject_GetAttr(active, name_calls), *by = PyLong_FromLong(change);
    PyObject *after = before == NULL || by == NULL ? NULL : PyNumber_Add(before, by);
    const int failed = after == NULL || PyObject_SetAttr(active, name_calls, after) < 0;
    Py_XDECREF(before);
    Py_XDECREF(by);
    Py_XDECREF(after);
    return failed ? -1 : 0;
}

static int
count_no_grad(long change)
{
    PyObject *before = PyDict_GetItemWithError(objects.HOT, objects.name_NO_GRAD), *by = PyLong_FromLong(change);
    PyObject *after = before == NULL || by == NULL ? NULL : PyNumber_Add(before, by);
    const int failed = after == NULL || PyDict_SetItem(objects.HOT, objects.name_NO_GRAD, after) < 0;
    Py_XDECREF(by);
    Py_XDECREF(after);
    return failed ? -1 : 0;
}

static int
guard_open(Guard *guard, PyObject *call, long depth)
{
    PyObject *deeper = PyLong_FromLong(depth);
    if (deeper == NULL || PyDict_SetItem(guard->modes, name_call, call) < 0
        || PyDict_SetItem(guard->modes, name_depth, deeper) < 0 || count_calls(1) < 0) {
        Py_XDECREF(deeper);
        return -1;
    }
    Py_DECREF(deeper);
    guard->is_open = 1;
    guard->token = PyObject_CallOneArg(objects.enter_quiet, objects.QUIET);
    return guard->token == NULL ? -1 : 0;
}

/* Restores everything; an error that is set stays, one that comes here is added only if there was none. */
static void
guard_close(Guard *guard, PyObject *call)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (guard->is_open) {
        PyDict_SetItem(guard->modes, name_call, guard->call);
        PyDict_SetItem(guard->modes, name_depth, guard->depth);
        count_calls(-1);
        PyObject *enabled = mode_of(guard->modes, objects.name_grad_enabled);
        if (enabled != NULL && enabled != guard->enabled) {
            PyDict_SetItem(guard->modes, objects.name_grad_enabled, guard->enabled);
            count_no_grad(guard->enabled == Py_True ? -1 : 1);
        }
        Py_XDECREF(enabled);
        PyDict_SetItem(guard->modes, objects.name_cut, guard->cut);
        slot_set(call, in_call.root_nodes, no_tuple);
        slot_set(call, in_call.need, Py_None);
        slot_set(call, in_call.node, Py_None);
        slot_set(call, in_call.recomputed, Py_None);
        if (guard->token != NULL) {
            Py_XDECREF(PyObject_CallOneArg(objects.leave_quiet, guard->token));
        }
        PyObject *hooks = mode_of(guard->modes, name_saved_hooks);
        if (hooks != NULL && hooks != guard->hooks) { /* an unpack hook opened a context, or closed one */
            Py_XDECREF(PyObject_CallOneArg(set_saved_hooks, guard->hooks));
        }
        Py_XDECREF(hooks);
    }
    guard_forget(guard);
    if (type != NULL) {
        PyErr_Clear();
        PyErr_Restore(type, value, traceback);
    }
}

/* ---- one call ----------------------------------------------------------------------------------------------- */

/* The name of the error that ended a call, for later reports. */
static void
note_interruption(PyObject *call)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *name = type == NULL ? NULL : PyObject_GetAttrString(type, "__name__");
    if (name != NULL) {
        slot_set(call, in_call.interrupted_by, name);
        Py_DECREF(name);
    }
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

static int
has_true(PyObject *call, Py_ssize_t offset)
{
    return Py_TYPE(call) == objects.BackwardCall && SLOT(call, offset) == Py_True;
}

/* Where a call starts, for reports: the nodes only while it runs, since it must not keep a graph alive. */
static int
note_roots(PyObject *call, PyObject *roots)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(roots);
    PyObject *numbers = PyTuple_New(count);
    if (numbers == NULL) {
        return -1;
    }
    for (Py_ssize_t index = 0; index < count; index++) {
        PyTuple_SET_ITEM(numbers, index, Py_NewRef(SLOT(PyTuple_GET_ITEM(roots, index), in_node.sequence)));
    }
    slot_set(call, in_call.root_nodes, roots);
    slot_set(call, in_call.roots, numbers);
    Py_DECREF(numbers);
    return 0;
}

/* Walks the graph behind `start` with everything set as it is in a backward call. Takes over `gradient`. The result
 * of `walk_graph`; NotImplemented, before anything was done, where Python is to do all of it. */
static PyObject *
guarded_walk(PyObject *roots, PyObject *start, PyObject *gradient, PyObject *call, PyObject *inputs)
{
    Guard guard = {0};
    PyObject *found = NULL;
    if (guard_read(&guard) < 0) {
        Py_DECREF(gradient);
        guard_forget(&guard);
        return NULL;
    }
    const long depth = PyLong_AsLong(guard.depth) + 1;
    if (depth % DEEP == 0 || depth < 1 || !PyBool_Check(guard.enabled)) {
        Py_DECREF(gradient);
        guard_forget(&guard);
        PyErr_Clear();
        Py_RETURN_NOTIMPLEMENTED;
    }
    const int restricted = inputs != Py_None || has_true(guard.call, in_call.restricted);
    slot_set(call, in_call.restricted, restricted ? Py_True : Py_False);
    if (note_roots(call, roots) == 0 && guard_open(&guard, call, depth) == 0) {
        found = walk_graph(start, gradient, call, inputs, has_true(call, in_call.create_graph));
        if (found != NULL && slot_given(call, in_call.callbacks)) {
            PyObject *done = PyObject_CallOneArg(run_callbacks, call);
            if (done == NULL) {
                Py_CLEAR(found);
            }
            Py_XDECREF(done);
        }
    }
    else {
        Py_DECREF(gradient);
    }
    if (found == NULL) {
        note_interruption(call);
    }
    guard_close(&guard, call);
    if (found != NULL && PyErr_Occurred()) {
        Py_CLEAR(found);
    }
    return found;
}

/* ---- run_backward ------------------------------------------------------------------------------------------- */

/* The nodes of a list of (node, number) as a tuple; NULL without an error: it is no such list. */
static PyObject *
nodes_of(PyObject *edges)
{
    if (!PyList_CheckExact(edges) || PyList_GET_SIZE(edges) == 0) {
        return NULL;
    }
    PyObject *nodes = PyTuple_New(PyList_GET_SIZE(edges));
    for (Py_ssize_t index = 0; nodes != NULL && index < PyList_GET_SIZE(edges); index++) {
        PyObject *edge = PyList_GET_ITEM(edges, index);
        if (!PyTuple_CheckExact(edge) || PyTuple_GET_SIZE(edge) != 2
            || !PyObject_TypeCheck(PyTuple_GET_ITEM(edge, 0), objects.Node)) {
            Py_CLEAR(nodes);
            return NULL;
        }
        PyTuple_SET_ITEM(nodes, index, Py_NewRef(PyTuple_GET_ITEM(edge, 0)));
    }
    return nodes;
}

/* The gradients as the walk takes them: Tensors, or their arrays. NULL without an error: there are others. */
static PyObject *
given_gradients(PyObject *gradients, int as_tensors)
{
    if (!PyList_CheckExact(gradients)) {
        return NULL;
    }
    PyObject *given = PyList_New(PyList_GET_SIZE(gradients));
    for (Py_ssize_t index = 0; given != NULL && index < PyList_GET_SIZE(gradients); index++) {
        PyObject *gradient = PyList_GET_ITEM(gradients, index);
        if (!is_tensor(gradient)) {
            Py_CLEAR(given);
            return NULL;
        }
        PyList_SET_ITEM(given, index, Py_NewRef(as_tensors ? gradient : SLOT(gradient, in_tensor.array)));
    }
    return given;
}

/* run_backward(roots, gradients, call, inputs): as `engine.run_backward`; NotImplemented where that has to do it. */
static PyObject *
core_run_backward(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "run_backward() takes 4 arguments");
        return NULL;
    }
    PyObject *call = arguments[2];
    if (!core_ready || is_unusual() || Py_TYPE(call) != objects.BackwardCall) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject *roots = nodes_of(arguments[0]), *found = NULL, *start = NULL;
    PyObject *gradients = roots == NULL ? NULL : given_gradients(arguments[1], has_true(call, in_call.create_graph));
    if (gradients == NULL) {
        Py_XDECREF(roots);
        if (PyErr_Occurred()) {
            return NULL;
        }
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (PyTuple_GET_SIZE(roots) == 1 && PyList_GET_SIZE(gradients) == 1
        && PyTuple_CheckExact(SLOT(PyTuple_GET_ITEM(roots, 0), in_node.shape))) {
        PyObject *gradient = Py_NewRef(PyList_GET_ITEM(gradients, 0));
        Py_CLEAR(gradients);
        found = guarded_walk(roots, PyTuple_GET_ITEM(roots, 0), gradient, call, arguments[3]);
    }
    else {
        PyObject *pair[2] = {arguments[0], gradients};
        start = PyObject_Vectorcall(start_of, pair, 2, NULL);
        Py_CLEAR(gradients);
        if (start != NULL) {
            found = guarded_walk(roots, PyTuple_GET_ITEM(start, 0), Py_NewRef(PyTuple_GET_ITEM(start, 1)), call, arguments[3]);
        }
    }
    Py_XDECREF(start);
    Py_DECREF(roots);
    return found;
}

/* ---- tensor.backward() -------------------------------------------------------------------------------------- */

/* At a few calls: does the graph grow? -1 with an error set, which may be a warning. */
static int
look_for_growth(PyObject *ordinal, PyObject *create)
{
    if (PyLong_AsSsize_t(ordinal) < look_at) {
        return 0;
    }
    PyObject *pair[2] = {ordinal, create};
    PyObject *next = PyObject_Vectorcall(growth_due, pair, 2, NULL);
    if (next == NULL) {
        return -1;
    }
    look_at = PyLong_AsSsize_t(next);
    Py_DECREF(next);
    return look_at == -1 && PyErr_Occurred() ? -1 : 0;
}

static PyObject *
new_call(PyObject *kind, PyObject *retain, PyObject *create)
{
    PyObject *code = NULL, *instruction = NULL, *number = NULL, *ordinal = NULL;
    PyObject *call = objects.BackwardCall->tp_alloc(objects.BackwardCall, 0);
    if (call == NULL || user_site(&code, &instruction) < 0 || (number = next_sequence()) == NULL
        || (ordinal = Py_TYPE(ordinals)->tp_iternext(ordinals)) == NULL || look_for_growth(ordinal, create) < 0) {
        Py_XDECREF(call);
        Py_XDECREF(code);
        Py_XDECREF(instruction);
        Py_XDECREF(number);
        Py_XDECREF(ordinal);
        return NULL;
    }
    SLOT(call, in_call.code) = code;
    SLOT(call, in_call.lasti) = instruction;
    SLOT(call, in_call.number) = number;
    SLOT(call, in_call.ordinal) = ordinal;
    slot_fill(call, in_call.kind, kind);
    slot_fill(call, in_call.retain_graph, retain);
    slot_fill(call, in_call.create_graph, create);
    slot_fill(call, in_call.restricted, Py_False);
    slot_fill(call, in_call.nodes_run, objects.zero);
    slot_fill(call, in_call.roots, no_tuple);
    slot_fill(call, in_call.root_nodes, no_tuple);
    slot_fill(call, in_call.need, Py_None);
    slot_fill(call, in_call.node, Py_None);
    slot_fill(call, in_call.callbacks, Py_None);
    slot_fill(call, in_call.kept, Py_None);
    slot_fill(call, in_call.recomputed, Py_None);
    slot_fill(call, in_call.interrupted_by, Py_None);
    return call;
}

/* The gradient that a call starts from: what is given, if it fits as it is, or a one. NULL without an error: Python
 * has to look at it. */
static PyObject *
first_gradient(PyObject *array, PyObject *given)
{
    if (given != Py_None) {
        if (!is_tensor(given)) {
            return NULL;
        }
        PyObject *found = SLOT(given, in_tensor.array);
        const int fits = PyArray_CheckExact(found) && has_shape_of(found, array)
                         && PyArray_DESCR(ARRAY(found)) == PyArray_DESCR(ARRAY(array));
        return fits ? Py_NewRef(found) : NULL;
    }
    if (PyArray_SIZE(ARRAY(array)) != 1) {
        return NULL;
    }
    PyArray_Descr *dtype = PyArray_DESCR(ARRAY(array));
    Py_INCREF(dtype);
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, dtype, PyArray_NDIM(ARRAY(array)), PyArray_DIMS(ARRAY(array)),
                                          NULL, NULL, 0, NULL);
    if (made != NULL && dtype == objects.F32) {
        *(npy_float32 *)PyArray_DATA(ARRAY(made)) = 1;
    }
    else if (made != NULL) {
        *(npy_float64 *)PyArray_DATA(ARRAY(made)) = 1;
    }
    return made;
}

/* Whether this thread runs inside a function transform, which refuses `backward()`: 1 or 0; -1 with an error set. */
static int
is_in_transform(void)
{
    PyObject *transforms = PyObject_GetAttr(objects.STATE, name_transforms);
    if (transforms == NULL) {
        return -1;
    }
    const int inside = transforms != objects.zero;
    Py_DECREF(transforms);
    return inside;
}

/* Whether a call may start at a tensor as it is: floating, with a node of its own that has one output. */
static int
is_plain_root(PyObject *tensor)
{
    if (!is_tensor(tensor) || SLOT(tensor, in_tensor.requires_grad) != Py_True
        || SLOT(tensor, in_tensor.view) != Py_None || SLOT(tensor, in_tensor.grad_fn) == Py_None) {
        return 0;
    }
    PyObject *array = SLOT(tensor, in_tensor.array), *root = SLOT(tensor, in_tensor.grad_fn);
    return PyArray_CheckExact(array) && PyTuple_CheckExact(SLOT(root, in_node.shape))
           && (PyObject *)PyArray_DESCR(ARRAY(array)) == SLOT(root, in_node.dtype)
           && (PyArray_DESCR(ARRAY(array)) == objects.F32 || PyArray_DESCR(ARRAY(array)) == objects.F64);
}

/* backward(tensor, gradient, retain_graph, create_graph, inputs): whether it was done. If not, nothing was. */
static PyObject *
core_backward(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError, "backward() takes 5 arguments");
        return NULL;
    }
    PyObject *tensor = arguments[0], *retain = arguments[2] == Py_None ? Py_False : arguments[2];
    if (!core_ready || is_unusual() || !PyBool_Check(retain) || arguments[3] != Py_False || arguments[4] != Py_None
        || !is_plain_root(tensor)) {
        Py_RETURN_FALSE;
    }
    const int inside = is_in_transform();
    if (inside != 0) {
        return inside < 0 ? NULL : Py_NewRef(Py_False);
    }
    PyObject *root = SLOT(tensor, in_tensor.grad_fn);
    PyObject *gradient = first_gradient(SLOT(tensor, in_tensor.array), arguments[1]);
    if (gradient == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    }
    PyObject *call = new_call(kind_backward, retain, Py_False), *roots = call == NULL ? NULL : PyTuple_Pack(1, root);
    PyObject *found = NULL;
    if (roots == NULL) {
        Py_DECREF(gradient);
    }
    else {
        found = guarded_walk(roots, PyTuple_GET_ITEM(roots, 0), gradient, call, Py_None);
    }
    Py_XDECREF(roots);
    Py_XDECREF(call);
    if (found == NULL) {
        return NULL;
    }
    const int done = found != Py_NotImplemented;
    Py_DECREF(found);
    return PyBool_FromLong(done);
}

/* ---- autograd.grad() ---------------------------------------------------------------------------------------- */

/* The places of `inputs` in the graph, as the walk takes them. NULL without an error: Python has to look at them. */
static PyObject *
places_of(PyObject *inputs)
{
    PyObject *single[1] = {inputs}, *const *items = single;
    Py_ssize_t count = 1;
    if (PyList_CheckExact(inputs) || PyTuple_CheckExact(inputs)) {
        items = PySequence_Fast_ITEMS(inputs);
        count = PySequence_Fast_GET_SIZE(inputs);
    }
    for (Py_ssize_t index = 0; index < count; index++) {
        if (!is_tensor(items[index]) || SLOT(items[index], in_tensor.requires_grad) != Py_True
            || SLOT(items[index], in_tensor.view) != Py_None) {
            return NULL;
        }
    }
    PyObject *places = count == 0 ? NULL : PyList_New(count);
    for (Py_ssize_t index = 0; places != NULL && index < count; index++) {
        PyObject *edge = edge_to(items[index]); /* makes an object: nothing of it runs other code */
        PyObject *place = edge == NULL || edge == Py_None ? NULL : PyTuple_Pack(2, edge, SLOT(items[index], in_tensor.output_nr));
        Py_XDECREF(edge);
        if (place == NULL) {
            Py_CLEAR(places);
            break;
        }
        PyList_SET_ITEM(places, index, place);
    }
    return places;
}

/* What was found, as `grad()` returns it: with the reason why it has no history, or the error of an unused input. */
static PyObject *
as_results(PyObject *found, PyObject *call)
{
    PyObject *cut = Py_NewRef(Py_None);
    if (!has_true(call, in_call.create_graph)) {
        Py_SETREF(cut, PyObject_CallFunction(cut_type, "ssOO", "grad", "autograd.grad", SLOT(call, in_call.code),
                                             SLOT(call, in_call.lasti)));
        if (cut == NULL) {
            return NULL;
        }
    }
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(found); index++) {
        PyObject *part = PyList_GET_ITEM(found, index);
        if (part == Py_None) {
            PyObject *error = PyObject_CallFunction(unused_input, "nO", index, call);
            if (error != NULL) {
                PyErr_SetObject((PyObject *)Py_TYPE(error), error);
                Py_DECREF(error);
            }
            Py_DECREF(cut);
            return NULL;
        }
        if (PyObject_TypeCheck(part, objects.Tensor)) {
            slot_set(part, in_tensor.cut, cut);
        }
    }
    Py_DECREF(cut);
    return PyList_AsTuple(found);
}

/* grad(outputs, inputs, retain_graph, create_graph): the gradients; NotImplemented, before anything was done, where
 * the arguments are not one scalar and plain tensors. */
static PyObject *
core_grad(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "grad() takes 4 arguments");
        return NULL;
    }
    PyObject *output = arguments[0], *create = arguments[3];
    PyObject *retain = arguments[2] == Py_None ? create : arguments[2];
    if (!core_ready || is_unusual() || !PyBool_Check(retain) || !PyBool_Check(create) || !is_plain_root(output)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject *gradient = first_gradient(SLOT(output, in_tensor.array), Py_None);
    PyObject *places = gradient == NULL ? NULL : places_of(arguments[1]);
    if (places == NULL) {
        Py_XDECREF(gradient);
        if (PyErr_Occurred()) {
            return NULL;
        }
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (create == Py_True) {
        PyObject *tensor = new_tensor(gradient);
        Py_SETREF(gradient, tensor);
    }
    PyObject *roots = PyTuple_Pack(1, SLOT(output, in_tensor.grad_fn));
    PyObject *call = roots == NULL || gradient == NULL ? NULL : new_call(kind_grad, retain, create);
    PyObject *found = NULL, *results = NULL;
    if (call == NULL) {
        Py_XDECREF(gradient);
    }
    else {
        found = guarded_walk(roots, PyTuple_GET_ITEM(roots, 0), gradient, call, places);
    }
    if (found != NULL) {
        results = found == Py_NotImplemented ? Py_NewRef(found) : as_results(found, call);
    }
    Py_XDECREF(found);
    Py_XDECREF(roots);
    Py_XDECREF(call);
    Py_DECREF(places);
    return results;
}

/* ---- part --------------------------------------------------------------------------------------------------- */

static PyMethodDef backward_methods[] = {
    {"run_backward", (PyCFunction)(void (*)(void))core_run_backward, METH_FASTCALL,
     "run_backward(roots, gradients, call, inputs): one run of the engine; see engine.walk."},
    {"backward", (PyCFunction)(void (*)(void))core_backward, METH_FASTCALL,
     "backward(tensor, gradient, retain_graph, create_graph, inputs): whether it was a case for C, and done."},
    {"grad", (PyCFunction)(void (*)(void))core_grad, METH_FASTCALL,
     "grad(outputs, inputs, retain_graph, create_graph): gradients, or NotImplemented; see autograd.api."},
    {NULL, NULL, 0, NULL},
};

static const Wanted backward_wanted[] = {
    {"start_of", &start_of},
    {"run_callbacks", &run_callbacks},
    {"set_saved_hooks", &set_saved_hooks},
    {"ACTIVE", &active},
    {"ordinals", &ordinals},
    {"growth_due", &growth_due},
    {"Cut", &cut_type},
    {"unused_input", &unused_input},
    {NULL, NULL},
};

static int
backward_start(void)
{
    const struct {
        PyObject **place;
        const char *text;
    } names[] = {
        {&name_calls, "calls"},       {&name_call, "call"},           {&name_depth, "depth"},
        {&name_saved_hooks, "saved_hooks"}, {&name_transforms, "transforms"}, {&name_dict, "__dict__"},
        {&kind_backward, "backward"},  {&kind_grad, "grad"},
    };
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        Py_XSETREF(*names[index].place, PyUnicode_InternFromString(names[index].text));
        if (*names[index].place == NULL) {
            return -1;
        }
    }
    Py_XSETREF(no_tuple, PyTuple_New(0));
    if (no_tuple == NULL || Py_TYPE(ordinals)->tp_iternext == NULL) {
        return -1;
    }
    return 0;
}

const Part backward_part = {.methods = backward_methods, .wanted = backward_wanted, .start = backward_start};
