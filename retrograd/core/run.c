/* What an op's nodes do: unpack the saved values, check their versions, apply the rules, release.
 *
 * A `Run` stands where the generated Python function `run_raw` of an op would, in `node.run`. It reads the op's call
 * plan when its first node runs. Where a value is not what it should be (freed, changed, of a subclass, packed by hooks) nothing
 * has been done yet and the Python function is called: it says what is wrong, in its words.
 */
#include "engine.h"

#include <structmember.h>

#define MOST_SAVES 24
#define MOST_RULES 16

typedef struct {
    PyObject *function;
    int count;
    unsigned char reads[MOST_SAVES]; /* indices of saved values */
} Rule;

typedef enum { OUTPUT, INPUT, OTHER } Kind;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *fallback; /* the Python function */
    PyObject *op;
    PyObject *form; /* the class of its nodes, once one was looked at */
    enum { UNREAD, FIT, UNFIT } state; /* the plan is read when the first node runs */
    int one_output;
    int is_joint; /* one rule gives the gradients of all inputs */
    int is_list;  /* one rule gives those of a list of tensors */
    int saves_values; /* some of the saved ones are tensors */
    int save_count, rule_count;
    struct {
        Kind kind;
        int start;
        int number; /* of an output; -1 if it carries no gradient, as indices do not */
    } saves[MOST_SAVES];
    int saved_size;
    Rule rules[MOST_RULES];
    const NamedRule *compiled; /* NULL: none */
} Run;

static PyObject *freed_mark, *freed_type; /* `node.FREED` and its class */
static PyObject *described;               /* `ops.compiled.runs.described` */
static PyObject *faces[2];                /* what rules compute with: on arrays, and on Tensors */

/* ---- reading the plan --------------------------------------------------------------------------------------- */

static int
take_reads(Run *run, Rule *rule, PyObject *pair)
{
    PyObject *function, *reads;
    if (!PyArg_ParseTuple(pair, "OO!", &function, &PyTuple_Type, &reads)) {
        return -1;
    }
    rule->count = (int)PyTuple_GET_SIZE(reads);
    if (rule->count > MOST_SAVES) {
        PyErr_SetString(PyExc_ValueError, "a rule reads too much");
        return -1;
    }
    for (int index = 0; index < rule->count; index++) {
        const long read = PyLong_AsLong(PyTuple_GET_ITEM(reads, index));
        if (read < 0 || read >= run->save_count) {
            PyErr_SetString(PyExc_ValueError, "a rule reads what is not saved");
            return -1;
        }
        rule->reads[index] = (unsigned char)read;
    }
    rule->function = Py_NewRef(function);
    return 0;
}

static int
take_save(Run *run, int index, PyObject *triple)
{
    const char *kind;
    int start, number;
    if (!PyArg_ParseTuple(triple, "sii", &kind, &start, &number)) {
        return -1;
    }
    const Kind known = strcmp(kind, "output") == 0 ? OUTPUT : strcmp(kind, "input") == 0 ? INPUT : OTHER;
    run->saves[index].kind = known;
    run->saves[index].start = start;
    run->saves[index].number = number;
    run->saved_size = start + (known == OUTPUT ? 3 : known == INPUT ? 2 : 1);
    run->saves_values |= known != OTHER;
    return 0;
}

static int
take_plan(Run *run, PyObject *plan)
{
    PyObject *saves, *rules;
    const char *name, *names, *form;
    int one_output;
    if (!PyArg_ParseTuple(plan, "ssO!O!sp", &name, &names, &PyTuple_Type, &saves, &PyTuple_Type, &rules, &form,
                          &one_output)) {
        return -1;
    }
    const Py_ssize_t save_count = PyTuple_GET_SIZE(saves), rule_count = PyTuple_GET_SIZE(rules);
    if (save_count > MOST_SAVES || rule_count > MOST_RULES || rule_count < 1) {
        run->state = UNFIT;
        return 0;
    }
    run->one_output = one_output;
    run->is_joint = strcmp(form, "joint") == 0;
    run->is_list = strcmp(form, "list") == 0;
    for (int index = 0; index < save_count; index++) {
        if (take_save(run, index, PyTuple_GET_ITEM(saves, index)) < 0) {
            return -1;
        }
        run->save_count = index + 1;
    }
    for (int index = 0; index < rule_count; index++) {
        if (take_reads(run, &run->rules[index], PyTuple_GET_ITEM(rules, index)) < 0) {
            return -1;
        }
        run->rule_count = index + 1;
    }
    run->compiled = find_compiled_rule(name, names);
    run->state = FIT;
    return 0;
}

/* Reads the op's plan: 1 if the runs of its nodes are a case for C, 0 if not, -1 with an error set. */
static int
is_fit(Run *run)
{
    if (run->state == UNREAD) {
        PyObject *plan = PyObject_CallOneArg(described, run->op);
        if (plan == NULL) {
            return -1;
        }
        /* another thread may have read it meanwhile: nothing of what follows lets one run */
        const int failed = run->state == UNREAD ? take_plan(run, plan) : 0;
        Py_DECREF(plan);
        if (failed < 0) {
            run->state = UNFIT;
            return -1;
        }
    }
    return run->state == FIT;
}

/* ---- unpacking ---------------------------------------------------------------------------------------------- */

/* Whether a saved version is still the one of the cell. */
static int
version_is(PyObject *cell, PyObject *saved)
{
    if (Py_TYPE(cell) != objects.VersionCell) {
        return 0;
    }
    PyObject *version = SLOT(cell, in_cell.version);
    if (version == saved) {
        return 1;
    }
    if (version == NULL || !PyLong_CheckExact(version) || !PyLong_CheckExact(saved)) {
        return 0;
    }
    return PyObject_RichCompareBool(version, saved, Py_EQ) == 1;
}

/* The values that rules read, as borrowed references: arrays, or Tensors where it is recorded. A saved output as a
 * Tensor is new and also goes to `made`. 1, 0 or -1. */
static int
unpack(Run *run, PyObject *node, int recorded, PyObject **values, PyObject **made)
{
    PyObject *saved = SLOT(node, in_node.saved);
    if (saved == NULL || !PyTuple_CheckExact(saved) || PyTuple_GET_SIZE(saved) != run->saved_size) {
        return 0;
    }
    for (int index = 0; index < run->save_count; index++) {
        const int start = run->saves[index].start;
        PyObject *value = PyTuple_GET_ITEM(saved, start);
        values[index] = value;
        if (run->saves[index].kind == OUTPUT) {
            if (!PyArray_CheckExact(value) || !version_is(PyTuple_GET_ITEM(saved, start + 1), PyTuple_GET_ITEM(saved, start + 2))) {
                return 0;
            }
        }
        else if (run->saves[index].kind == INPUT) {
            if (is_tensor(value)) {
                PyObject *cell = SLOT(value, in_tensor.cell);
                if (cell != Py_None
                    && (!version_is(cell, PyTuple_GET_ITEM(saved, start + 1))
                        || SLOT(cell, in_cell.detached) != objects.zero)) {
                    return 0;
                }
                if (!recorded) {
                    values[index] = SLOT(value, in_tensor.array);
                }
            }
            else if ((PyObject *)Py_TYPE(value) == freed_type || PyObject_TypeCheck(value, objects.Tensor)) {
                return 0;
            }
        }
    }
    if (!recorded) {
        return 1;
    }
    for (int index = 0; index < run->save_count; index++) {
        if (run->saves[index].kind == OUTPUT) {
            const int start = run->saves[index].start;
            PyObject *tensor = new_tensor(values[index]);
            if (tensor == NULL) {
                return -1;
            }
            slot_set(tensor, in_tensor.cell, PyTuple_GET_ITEM(saved, start + 1));
            if (run->saves[index].number >= 0) {
                slot_set(tensor, in_tensor.grad_fn, node);
                slot_set(tensor, in_tensor.requires_grad, Py_True);
                PyObject *number = PyLong_FromLong(run->saves[index].number);
                if (number == NULL) {
                    Py_DECREF(tensor);
                    return -1;
                }
                slot_set(tensor, in_tensor.output_nr, number);
                Py_DECREF(number);
            }
            values[index] = made[index] = tensor;
        }
    }
    return 1;
}

/* ---- releasing ---------------------------------------------------------------------------------------------- */

/* What a freed node holds instead of its saved values: options stay, tensors leave a mark. */
static int
release(Run *run, PyObject *node, PyObject *call)
{
    if (SLOT(node, in_node.freed) == Py_None) {
        slot_set(node, in_node.freed, call);
    }
    PyObject *saved = SLOT(node, in_node.saved);
    if (!run->saves_values || saved == NULL || !PyTuple_CheckExact(saved) || PyTuple_GET_SIZE(saved) != run->saved_size) {
        return 0; /* the last two: somebody released it while the rule ran */
    }
    PyObject *left = own_tuple(run->saved_size);
    if (left == NULL) {
        return -1;
    }
    for (int place = 0; place < run->saved_size; place++) {
        PyTuple_SET_ITEM(left, place, Py_NewRef(PyTuple_GET_ITEM(saved, place)));
    }
    for (int index = 0; index < run->save_count; index++) {
        const int start = run->saves[index].start;
        PyObject *value = PyTuple_GET_ITEM(saved, start);
        if (run->saves[index].kind == OUTPUT || (run->saves[index].kind == INPUT && value != Py_None)) {
            PyTuple_SET_ITEM(left, start, Py_NewRef(freed_mark));
            Py_DECREF(value); /* the reference that `left` took; `saved` still holds one */
        }
    }
    SLOT(node, in_node.saved) = left;
    Py_DECREF(saved);
    return 0;
}

/* ---- applying ----------------------------------------------------------------------------------------------- */

static PyObject *
call_rule(const Rule *rule, PyObject *face, PyObject *gradient, PyObject *needs, PyObject **values)
{
    PyObject *arguments[MOST_SAVES + 3];
    int count = 0;
    arguments[count++] = face;
    arguments[count++] = gradient;
    if (needs != NULL) {
        arguments[count++] = needs;
    }
    for (int index = 0; index < rule->count; index++) {
        arguments[count++] = values[rule->reads[index]];
    }
    return PyObject_Vectorcall(rule->function, arguments, (size_t)count, NULL);
}

/* One rule for all inputs: it is told which of them are needed. */
static int
apply_joint(Run *run, PyObject *face, PyObject *gradient, PyObject **values, Edges wanted, Results *results)
{
    PyObject *needs = PyTuple_New(results->count);
    if (needs == NULL) {
        return -1;
    }
    for (Py_ssize_t index = 0; index < results->count; index++) {
        PyTuple_SET_ITEM(needs, index, Py_NewRef(wanted >> index & 1 ? Py_True : Py_False));
    }
    PyObject *given = call_rule(&run->rules[0], face, gradient, needs, values);
    Py_DECREF(needs);
    if (given == NULL) {
        return -1;
    }
    PyObject *parts = PySequence_Tuple(given);
    Py_DECREF(given);
    if (parts == NULL) {
        return -1;
    }
    if (PyTuple_GET_SIZE(parts) != results->count) {
        PyErr_Format(PyExc_ValueError, "a rule gave %zd gradients for %zd inputs", PyTuple_GET_SIZE(parts), results->count);
        Py_DECREF(parts);
        return -1;
    }
    for (Py_ssize_t index = 0; index < results->count; index++) {
        PyObject *part = PyTuple_GET_ITEM(parts, index);
        if ((wanted >> index & 1) && part != Py_None) {
            results->parts[index] = Py_NewRef(part);
        }
    }
    Py_DECREF(parts);
    return 1;
}

static int
apply(Run *run, PyObject *gradient, PyObject **values, Edges wanted, int recorded, Results *results)
{
    if (!recorded && run->compiled != NULL) {
        if (!run->compiled->chains && chain_settle(results->chain) < 0) {
            return -1;
        }
        const int done = run->compiled->rule(gradient, values, wanted, results);
        if (done != 0) {
            return done;
        }
    }
    if (chain_settle(results->chain) < 0) {
        return -1;
    }
    PyObject *face = faces[recorded];
    if (run->is_list) {
        PyObject *given = call_rule(&run->rules[0], face, gradient, NULL, values);
        if (given == NULL) {
            return -1;
        }
        results->holder = PySequence_Tuple(given);
        Py_DECREF(given);
        if (results->holder == NULL) {
            return -1;
        }
        results->count = PyTuple_GET_SIZE(results->holder);
        return 1;
    }
    if (run->is_joint) {
        return apply_joint(run, face, gradient, values, wanted, results);
    }
    for (int index = 0; index < run->rule_count; index++) {
        if (run->rule_count > 1 && !(wanted >> index & 1)) {
            continue; /* the only rule of an op always runs, as it does in Python */
        }
        PyObject *part = call_rule(&run->rules[index], face, gradient, NULL, values);
        if (part == NULL) {
            return -1;
        }
        if (part == Py_None) {
            Py_DECREF(part);
        }
        else {
            results->parts[index] = part;
        }
    }
    return 1;
}

int
run_rule(PyObject *object, int edge, PyObject *gradient, PyObject **values, PyObject **part)
{
    Run *run = (Run *)object;
    const int fit = is_fit(run);
    if (fit != 1 || run->is_joint || run->is_list || run->rule_count > FEW_PARTS || edge >= run->rule_count) {
        return fit < 0 ? -1 : 0;
    }
    Results results = {.count = run->rule_count};
    const int done = apply(run, gradient, values, (Edges)1 << edge, 0, &results);
    *part = results_take(&results, edge);
    results_clear(&results);
    return done;
}

/* What stands in the list of a node with several outputs: -1 for anything but gradients and None, else how many. */
static int
count_gradients(PyObject *list, int recorded)
{
    int count = 0;
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(list); index++) {
        PyObject *item = PyList_GET_ITEM(list, index);
        if (item == Py_None) {
            continue;
        }
        if (recorded ? !PyObject_TypeCheck(item, objects.Tensor) : !PyArray_CheckExact(item)) {
            return -1;
        }
        count++;
    }
    return count;
}

int
run_node(PyObject *object, PyObject *node, PyObject *gradient, Edges wanted, PyObject *freeing, int recorded,
         Results *results)
{
    Run *run = (Run *)object;
    PyObject *edges = SLOT(node, in_node.edges);
    results->holder = NULL;
    results->count = 0;
    const int fit = is_fit(run);
    if (fit != 1 || !PyTuple_CheckExact(edges)) {
        return fit < 0 ? -1 : 0;
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(edges);
    if (!run->is_list) {
        if (count > FEW_PARTS || (!run->is_joint && count != run->rule_count)) {
            return 0;
        }
        results->count = count;
        for (Py_ssize_t index = 0; index < count; index++) {
            results->parts[index] = NULL;
        }
    }
    int nothing = 0; /* arrived: nothing is computed, but what was saved is read and released as ever */
    if (run->one_output) {
        if (gradient == Py_None) {
            nothing = 1;
        }
        else if (recorded ? !PyObject_TypeCheck(gradient, objects.Tensor) : !PyArray_CheckExact(gradient)) {
            results->count = 0;
            return 0;
        }
    }
    else {
        const int arrived = PyList_CheckExact(gradient) ? count_gradients(gradient, recorded) : -1;
        if (arrived < 0) {
            results->count = 0;
            return 0;
        }
        nothing = arrived == 0;
    }
    if (nothing && run->is_list) {
        return 0;
    }
    PyObject *values[MOST_SAVES], *made[MOST_SAVES] = {NULL};
    if (recorded && SLOT(node, in_node.extra) != Py_None) {
        results->count = 0;
        return 0; /* a saved output may have another history */
    }
    PyObject *saved = Py_XNewRef(SLOT(node, in_node.saved)); /* the values stay, whatever a rule does to the node */
    int done = unpack(run, node, recorded, values, made);
    if (done == 1) {
        done = nothing ? 1 : apply(run, gradient, values, wanted, recorded, results);
        if (done == 1 && freeing != Py_None && release(run, node, freeing) < 0) {
            done = -1;
        }
    }
    for (int index = 0; index < run->save_count; index++) {
        Py_XDECREF(made[index]);
    }
    Py_XDECREF(saved);
    if (done != 1) {
        results_clear(results);
    }
    return done;
}

/* ---- as a Python function ----------------------------------------------------------------------------------- */

/* The edges of a node that somebody waits for; `need` is None or a set. -1 with an error, -2: not a case for C. */
static int
wanted_edges(PyObject *node, PyObject *need, Edges *wanted)
{
    PyObject *edges = SLOT(node, in_node.edges);
    *wanted = 0;
    if (edges == NULL || !PyTuple_CheckExact(edges) || (need != Py_None && !PyAnySet_CheckExact(need))) {
        return -2;
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(edges);
    for (Py_ssize_t index = 0; index < count && index < MOST_EDGES; index++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, index);
        if (edge == Py_None) {
            continue;
        }
        const int found = need == Py_None ? 1 : PySet_Contains(need, edge);
        if (found < 0) {
            return -1;
        }
        *wanted |= (Edges)found << index;
    }
    return 0;
}

/* run(node, gradient, need, freeing): as the Python function of that name, and with its result. */
static PyObject *
run_call(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *keywords)
{
    Run *run = (Run *)self;
    Edges wanted;
    if (core_ready && PyVectorcall_NARGS(flags) == 4 && keywords == NULL
        && PyObject_TypeCheck(arguments[0], objects.Node)) {
        const int found = wanted_edges(arguments[0], arguments[2], &wanted);
        if (found == -1) {
            return NULL;
        }
        Results results = {0}; /* the caller keeps its gradient */
        const int done
            = found < 0 ? 0 : run_node(self, arguments[0], arguments[1], wanted, arguments[3], 0, &results);
        if (done < 0) {
            return NULL;
        }
        if (done) {
            PyObject *tuple = PyTuple_New(results.count);
            for (Py_ssize_t index = 0; tuple != NULL && index < results.count; index++) {
                PyObject *part = results_take(&results, index);
                PyTuple_SET_ITEM(tuple, index, part == NULL ? Py_NewRef(Py_None) : part);
            }
            results_clear(&results);
            return tuple;
        }
    }
    return PyObject_Vectorcall(run->fallback, arguments, flags, keywords);
}

static int
run_traverse(PyObject *self, visitproc visit, void *arg)
{
    Run *run = (Run *)self;
    Py_VISIT(run->fallback);
    Py_VISIT(run->op);
    Py_VISIT(run->form);
    for (int index = 0; index < run->rule_count; index++) {
        Py_VISIT(run->rules[index].function);
    }
    return 0;
}

static int
run_clear(PyObject *self)
{
    Run *run = (Run *)self;
    Py_CLEAR(run->fallback);
    Py_CLEAR(run->op);
    Py_CLEAR(run->form);
    for (int index = 0; index < run->rule_count; index++) {
        Py_CLEAR(run->rules[index].function);
    }
    return 0;
}

static void
run_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    run_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef run_members[] = {
    {"fallback", T_OBJECT, offsetof(Run, fallback), READONLY, "The Python function."},
    {"op", T_OBJECT, offsetof(Run, op), 0, "The op."},
    {"form", T_OBJECT, offsetof(Run, form), 0, "The class of the nodes, None before one was looked at."},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *
run_has_compiled_rule(PyObject *self, void *Py_UNUSED(closure))
{
    const int fit = is_fit((Run *)self);
    return fit < 0 ? NULL : PyBool_FromLong(((Run *)self)->compiled != NULL);
}

static PyGetSetDef run_properties[] = {
    {"has_compiled_rule", run_has_compiled_rule, NULL, "Whether the rules themselves are compiled.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Run(op, fallback) */
static PyObject *
run_new(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(keywords))
{
    PyObject *op, *fallback;
    if (!PyArg_ParseTuple(arguments, "OO", &op, &fallback)) {
        return NULL;
    }
    Run *run = (Run *)type->tp_alloc(type, 0);
    if (run != NULL) {
        run->vectorcall = run_call;
        run->op = Py_NewRef(op);
        run->fallback = Py_NewRef(fallback);
        run->form = Py_NewRef(Py_None);
    }
    return (PyObject *)run;
}

PyTypeObject RunType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "retrograd.core._core.Run",
    .tp_basicsize = sizeof(Run),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "What an op's nodes do when a gradient arrives.",
    .tp_new = run_new,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Run, vectorcall),
    .tp_traverse = run_traverse,
    .tp_clear = run_clear,
    .tp_dealloc = run_dealloc,
    .tp_members = run_members,
    .tp_getset = run_properties,
};

static int
run_add(PyObject *module)
{
    return PyModule_AddType(module, &RunType);
}

static const Wanted run_wanted[] = {
    {"FREED", &freed_mark},
    {"Freed", &freed_type},
    {"described", &described},
    {"RAW", &faces[0]},
    {"RECORDED", &faces[1]},
    {NULL, NULL},
};

const Part run_part = {.wanted = run_wanted, .add = run_add};
