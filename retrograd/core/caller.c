/* The callable that stands where an op's function, method or operator is: C for the usual call, Python for the rest.
 *
 * It knows its Python function and its op; the plan is asked for at the first call. To everyone who looks it is the
 * Python function: attributes are read from there and set there.
 */
#include "caller.h"
#include "shortcut.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *python; /* the generated function: it knows all cases */
    PyObject *op;
    PyObject *weak_references;
    CallPlan *plan; /* NULL before the first call */
    PyObject *place; /* where users find it, see `refuse`; or NULL */
    PyObject *writer; /* of a function that works in place: its name, which the tensor remembers; or NULL */
    KnownTypes known;
    int is_operator;
} Caller;

static PyObject *describe;      /* ops.compiled.specification.describe */
static PyObject *name_dispatch; /* of the general path in HOT, where a profiler may put another */

/* ---- calls -------------------------------------------------------------------------------------------------- */

static int
prepare(Caller *caller)
{
    PyObject *description = PyObject_CallFunctionObjArgs(describe, caller->op, caller->is_operator ? Py_True : Py_False,
                                                         caller->writer != NULL ? Py_True : Py_False, NULL);
    CallPlan *plan = description == NULL ? NULL : PyMem_Calloc(1, sizeof *plan);
    if (plan == NULL) {
        Py_XDECREF(description);
        return -1;
    }
    const int failed = description != Py_None && read_plan(plan, description) < 0; /* None: all calls are Python's */
    Py_DECREF(description);
    if (failed || caller->plan != NULL) { /* another thread may have been quicker */
        clear_plan(plan);
        PyMem_Free(plan);
        return failed ? -1 : 0;
    }
    caller->plan = plan;
    return 0;
}

PyObject *
call_dispatch(const Call *call)
{
    const CallPlan *plan = call->plan;
    PyObject *arguments = PyTuple_New(plan->parameter_count);
    if (arguments == NULL) {
        return NULL;
    }
    for (int place = 0; place < plan->parameter_count; place++) {
        PyTuple_SET_ITEM(arguments, place, Py_NewRef(call->values[place]));
    }
    PyObject *result = NULL, *dispatch = PyDict_GetItemWithError(objects.HOT, name_dispatch);
    if (dispatch != NULL) {
        Py_INCREF(dispatch);
        result = PyObject_CallFunctionObjArgs(dispatch, plan->op, arguments, plan->is_operator ? Py_True : NULL, NULL);
        Py_DECREF(dispatch);
    }
    else if (!PyErr_Occurred()) {
        PyErr_SetObject(PyExc_KeyError, name_dispatch);
    }
    Py_DECREF(arguments);
    return result;
}

/* A call whose arguments are known; NULL without an error set where it is Python's. */
static PyObject *
run(const Caller *caller, Call *call)
{
    const Form form = call->plan->form;
    if (form == FORM_LIST) {
        return call_list(call);
    }
    if (read_operands(call) <= 0) {
        return NULL;
    }
    PyObject *result = NULL;
    if (caller->writer != NULL) {
        result = form == FORM_SINGLE ? call_in_place(call, caller->writer) : NULL;
    }
    else {
        result = form == FORM_SINGLE    ? call_single(call)
                 : form == FORM_SEVERAL ? call_several(call)
                                        : call_pieces(call);
    }
    if (call->is_dual && result != NULL) {
        result = with_tangent(call, result);
    }
    release_operands(call);
    return result;
}

static PyObject *
call_either(Caller *caller, PyObject *const *arguments, size_t flags, PyObject *keywords, int checked)
{
    if (core_ready && !core_calls_python && (caller->plan != NULL || prepare(caller) == 0)) {
        Call this = {.plan = caller->plan};
        const int is_rare = is_unusual(), is_batched = is_rare && caller->writer == NULL && is_batched_call(this.plan);
        this.is_dual = is_rare && !is_batched && caller->writer == NULL && is_dual_call(this.plan);
        if (this.plan->form != FORM_GENERAL && (!is_rare || is_batched || this.is_dual)
            && bind_arguments(&this, arguments, PyVectorcall_NARGS(flags), keywords)) {
            PyObject *result = is_batched ? call_batched(&this) : run(caller, &this);
            if (result != NULL || (PyErr_Occurred() && !this.kernel_failed)
                || (this.kernel_failed && !PyErr_ExceptionMatches(PyExc_Exception))) {
                return result;
            }
            PyErr_Clear(); /* nothing was changed: Python does it again, and explains */
        }
    }
    if (PyErr_Occurred() || (!checked && check_types(caller->place, &caller->known, arguments, flags, keywords) < 0)) {
        return NULL;
    }
    return PyObject_Vectorcall(caller->python, arguments, flags, keywords);
}

static PyObject *
call(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *keywords)
{
    Caller *caller = (Caller *)self;
    if (core_calls_python) {
        note_called(self);
    }
    if (caller->place == NULL) {
        return call_either(caller, arguments, flags, keywords, 1);
    }
    /* C looks at the types of operands itself, and not at those of options */
    const int checked = caller->plan == NULL || caller->plan->option_count > 0;
    if (checked && check_types(caller->place, &caller->known, arguments, flags, keywords) < 0) {
        return NULL;
    }
    PyObject *result = call_either(caller, arguments, flags, keywords, checked);
    return result != NULL ? result : refuse(caller->place, arguments, flags, keywords);
}

/* ---- what others see ---------------------------------------------------------------------------------------- */

static PyObject *
get_forwarded(PyObject *self, void *name)
{
    return PyObject_GetAttrString(((Caller *)self)->python, name);
}

/* Module and name, which depend on the place. */
static PyObject *
get_place(PyObject *self, void *name)
{
    PyObject *place = ((Caller *)self)->place;
    if (place == NULL) {
        return get_forwarded(self, name);
    }
    return Py_NewRef(PyTuple_GET_ITEM(place, strcmp(name, "__module__") == 0 ? 1 : 2));
}

static int
set_forwarded(PyObject *self, PyObject *value, void *name)
{
    return PyObject_SetAttrString(((Caller *)self)->python, name, value);
}

static PyObject *
get_attribute(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        found = PyObject_GetAttr(((Caller *)self)->python, name);
    }
    return found;
}

static int
set_attribute(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((Caller *)self)->python, name, value);
}

static PyObject *
bind_method(PyObject *self, PyObject *instance, PyObject *Py_UNUSED(type))
{
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

static PyObject *
represent(PyObject *self)
{
    PyObject *name = get_place(self, "__qualname__");
    if (name == NULL) {
        return NULL;
    }
    PyObject *text = PyUnicode_FromFormat("<function %S at %p>", name, self);
    Py_DECREF(name);
    return text;
}

/* A function is pickled, and copied, by its name. */
static PyObject *
reduce(PyObject *self, PyObject *Py_UNUSED(nothing))
{
    return get_place(self, "__qualname__");
}

/* ---- the type ----------------------------------------------------------------------------------------------- */

static int
traverse(PyObject *self, visitproc visit, void *arg)
{
    Caller *caller = (Caller *)self;
    Py_VISIT(caller->python);
    Py_VISIT(caller->op);
    return caller->plan == NULL ? 0 : visit_plan(caller->plan, visit, arg);
}

static int
clear(PyObject *self)
{
    Caller *caller = (Caller *)self;
    Py_CLEAR(caller->op);
    CallPlan *plan = caller->plan;
    if (plan != NULL) {
        caller->plan = NULL;
        clear_plan(plan);
        PyMem_Free(plan);
    }
    return 0;
}

static void
deallocate(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    if (((Caller *)self)->weak_references != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    clear(self);
    forget_types(&((Caller *)self)->known);
    Py_CLEAR(((Caller *)self)->python);
    Py_CLEAR(((Caller *)self)->place);
    Py_CLEAR(((Caller *)self)->writer);
    Py_TYPE(self)->tp_free(self);
}

/* The same function as users find it; its plan is read again when it is called. */
static PyObject *
at(PyObject *self, PyObject *place)
{
    Caller *caller = (Caller *)self, *made = (Caller *)Py_TYPE(self)->tp_alloc(Py_TYPE(self), 0);
    if (made != NULL) {
        made->vectorcall = call;
        made->python = Py_NewRef(caller->python);
        made->op = Py_NewRef(caller->op);
        made->is_operator = caller->is_operator;
        made->place = Py_NewRef(place);
        made->writer = Py_XNewRef(caller->writer);
    }
    return (PyObject *)made;
}

static PyObject *
make(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"python", "op", "is_operator", "writer", NULL};
    PyObject *python, *op, *writer = NULL;
    int is_operator = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO|pU", names, &python, &op, &is_operator, &writer)) {
        return NULL;
    }
    if (!PyFunction_Check(python)) {
        PyErr_SetString(PyExc_TypeError, "a caller stands for a Python function");
        return NULL;
    }
    Caller *caller = (Caller *)type->tp_alloc(type, 0);
    if (caller != NULL) {
        caller->vectorcall = call;
        caller->python = Py_NewRef(python);
        caller->op = Py_NewRef(op);
        caller->is_operator = is_operator;
        caller->writer = Py_XNewRef(writer);
    }
    return (PyObject *)caller;
}

#define FORWARDED(name) {name, get_forwarded, set_forwarded, NULL, name}

static PyGetSetDef forwarded[] = {
    FORWARDED("__class__"), /* so that it passes for a function with `isinstance`, too */
    FORWARDED("__name__"),
    {"__qualname__", get_place, set_forwarded, NULL, "__qualname__"},
    {"__module__", get_place, set_forwarded, NULL, "__module__"},
    FORWARDED("__doc__"),
    FORWARDED("__dict__"),
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"python", T_OBJECT, offsetof(Caller, python), READONLY, "The Python function that it stands for."},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef caller_methods[] = {
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {"at", at, METH_O, "at(place): the same where users find it."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject caller_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "retrograd.core._core.Caller",
    .tp_basicsize = sizeof(Caller),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_HAVE_GC,
    .tp_new = make,
    .tp_dealloc = deallocate,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_vectorcall_offset = offsetof(Caller, vectorcall),
    .tp_weaklistoffset = offsetof(Caller, weak_references),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = bind_method,
    .tp_getattro = get_attribute,
    .tp_setattro = set_attribute,
    .tp_repr = represent,
    .tp_getset = forwarded,
    .tp_members = members,
    .tp_methods = caller_methods,
};

/* ---- the part ----------------------------------------------------------------------------------------------- */

static PyObject *
core_call_python(PyObject *Py_UNUSED(module), PyObject *flag)
{
    const int given = PyObject_IsTrue(flag);
    if (given < 0) {
        return NULL;
    }
    core_calls_python = given;
    Py_RETURN_NONE;
}

static PyObject *
core_use_parameter(PyObject *Py_UNUSED(module), PyObject *type)
{
    if (!core_ready) {
        Py_RETURN_NONE; /* `setup` will be given it */
    }
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, objects.Tensor)) {
        PyErr_SetString(PyExc_TypeError, "the class of parameters must be one of tensors");
        return NULL;
    }
    Py_XSETREF(objects.Parameter, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"call_python", core_call_python, METH_O, "call_python(flag): whether all callers call their Python functions."},
    {"use_parameter", core_use_parameter, METH_O, "use_parameter(type): the second class whose objects are tensors."},
    {NULL, NULL, 0, NULL},
};

static int
add(PyObject *module)
{
    name_dispatch = PyUnicode_InternFromString("dispatch");
    return name_dispatch == NULL ? -1 : PyModule_AddType(module, &caller_type);
}

static const Wanted wanted[] = {
    {"describe", &describe},
    {NULL, NULL},
};

const Part caller_part = {.methods = methods, .wanted = wanted, .add = add};
