/* The C form of a call plan, read from what `ops.compiled.specification.describe` gives: a dict of plain values. */
#include "caller.h"

/* ---- values of the description ------------------------------------------------------------------------------ */

static PyObject *
item(PyObject *description, const char *name)
{
    PyObject *found = PyDict_GetItemString(description, name);
    if (found == NULL) {
        PyErr_Format(PyExc_KeyError, "a call plan lacks %s", name);
    }
    return found;
}

/* A new reference to an item, NULL for None. */
static int
take(PyObject *description, const char *name, PyObject **place)
{
    PyObject *found = item(description, name);
    if (found == NULL) {
        return -1;
    }
    *place = found == Py_None ? NULL : Py_NewRef(found);
    return 0;
}

static int
take_number(PyObject *description, const char *name, int *place)
{
    PyObject *found = item(description, name);
    if (found == NULL) {
        return -1;
    }
    const long number = PyLong_AsLong(found);
    *place = (int)number;
    return number == -1 && PyErr_Occurred() ? -1 : 0;
}

/* A tuple of the description with at most `most` items; NULL with an error set. */
static PyObject *
items(PyObject *description, const char *name, Py_ssize_t most)
{
    PyObject *found = item(description, name);
    if (found != NULL && (!PyTuple_Check(found) || PyTuple_GET_SIZE(found) > most)) {
        PyErr_Format(PyExc_TypeError, "%s of a call plan is no tuple, or too long", name);
        return NULL;
    }
    return found;
}

static int
take_numbers(PyObject *description, const char *name, int *places, int *count, Py_ssize_t most)
{
    PyObject *found = items(description, name, most);
    if (found == NULL) {
        return -1;
    }
    *count = (int)PyTuple_GET_SIZE(found);
    for (int index = 0; index < *count; index++) {
        const long number = PyLong_AsLong(PyTuple_GET_ITEM(found, index));
        if (number == -1 && PyErr_Occurred()) {
            return -1;
        }
        places[index] = (int)number;
    }
    return 0;
}

/* The number of a word in a list that ends with NULL; -1 with an error set. */
static int
number_of(PyObject *word, const char *const *words)
{
    for (int number = 0; words[number] != NULL; number++) {
        if (PyUnicode_Check(word) && PyUnicode_CompareWithASCIIString(word, words[number]) == 0) {
            return number;
        }
    }
    PyErr_Format(PyExc_ValueError, "a call plan has %R, which the core does not know", word);
    return -1;
}

/* ---- parts of the plan -------------------------------------------------------------------------------------- */

static const char *const forms[] = {"general", "single", "several", "list", "pieces", NULL};
static const char *const kinds[] = {"option", "array", "operand", "optional", "optional_operand", "list", NULL};
static const char *const saved[] = {"output", "input", "option", "shape", "dtype", "strides", NULL};

/* parameters: (name, kind, whether there is a default, the default, keyword only) */
static int
take_parameters(CallPlan *plan, PyObject *description)
{
    PyObject *found = items(description, "parameters", MOST_PARAMETERS);
    if (found == NULL) {
        return -1;
    }
    const int count = (int)PyTuple_GET_SIZE(found);
    for (int index = 0; index < count; index++) {
        Parameter *parameter = &plan->parameters[index];
        PyObject *name, *kind, *initial;
        int has_default;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(found, index), "UOpOp", &name, &kind, &has_default, &initial,
                              &parameter->keyword_only)) {
            return -1;
        }
        const int takes = number_of(kind, kinds);
        if (takes < 0) {
            return -1;
        }
        parameter->takes = (Takes)takes;
        parameter->name = Py_NewRef(name);
        PyUnicode_InternInPlace(&parameter->name);
        parameter->initial = has_default ? Py_NewRef(initial) : NULL;
        plan->parameter_count = index + 1;
        plan->keyword_count += parameter->keyword_only;
        if (takes == TAKES_OPTION) {
            plan->option_places[plan->option_count++] = index;
        }
    }
    return 0;
}

/* saves: (kind, source, readers, always) */
static int
take_saves(CallPlan *plan, PyObject *description)
{
    PyObject *found = items(description, "saves", MOST_SAVES);
    if (found == NULL) {
        return -1;
    }
    plan->save_count = (int)PyTuple_GET_SIZE(found);
    for (int index = 0; index < plan->save_count; index++) {
        Save *save = &plan->saves[index];
        PyObject *kind;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(found, index), "OiIp", &kind, &save->source, &save->readers,
                              &save->always)) {
            return -1;
        }
        const int number = number_of(kind, saved);
        if (number < 0) {
            return -1;
        }
        save->kind = (Saves)number;
        plan->saved_length += number == SAVES_OUTPUT ? 3 : number == SAVES_INPUT ? 2 : 1;
        plan->saves_input |= number == SAVES_INPUT;
    }
    return 0;
}

/* aliases: (name, place), place -1 for `out` */
static int
take_aliases(CallPlan *plan, PyObject *description)
{
    PyObject *found = items(description, "aliases", MOST_ALIASES);
    if (found == NULL) {
        return -1;
    }
    for (int index = 0; index < (int)PyTuple_GET_SIZE(found); index++) {
        PyObject *name;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(found, index), "Ui", &name, &plan->aliases[index].place)) {
            return -1;
        }
        plan->aliases[index].name = Py_NewRef(name);
        PyUnicode_InternInPlace(&plan->aliases[index].name);
        plan->alias_count = index + 1;
    }
    return 0;
}

static int
take_form(CallPlan *plan, PyObject *description)
{
    PyObject *form = item(description, "form");
    const int number = form == NULL ? -1 : number_of(form, forms);
    plan->form = number < 0 ? FORM_GENERAL : (Form)number;
    return number < 0 ? -1 : 0;
}

/* The places that the plan leads to, which C code trusts. */
static int
is_consistent(const CallPlan *plan)
{
    int good = plan->output_count <= MOST_OUTPUTS && plan->positional_count <= plan->parameter_count
               && (plan->tensor_count > 0 || plan->form == FORM_GENERAL);
    for (int index = 0; index < plan->positional_count; index++) {
        good &= plan->positional_places[index] >= 0 && plan->positional_places[index] < plan->parameter_count;
    }
    for (int index = 0; index < plan->tensor_count; index++) {
        good &= plan->tensor_places[index] >= 0 && plan->tensor_places[index] < plan->parameter_count;
    }
    for (int index = 0; index < plan->edge_count; index++) {
        good &= plan->edges[index] >= 0 && plan->edges[index] < plan->tensor_count;
    }
    for (int index = 0; index < plan->alias_count; index++) {
        good &= plan->aliases[index].place < plan->parameter_count;
    }
    for (int index = 0; index < plan->save_count; index++) {
        const Save *save = &plan->saves[index];
        const int limit = save->kind == SAVES_OUTPUT   ? plan->output_count
                          : save->kind == SAVES_OPTION ? plan->parameter_count
                                                       : plan->tensor_count;
        good &= save->source < limit
                && save->source >= (save->kind >= SAVES_SHAPE && plan->form != FORM_PIECES ? -1 : 0);
    }
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "a call plan leads to places that it does not have");
    }
    return good;
}

int
read_plan(CallPlan *plan, PyObject *description)
{
    int nothing, lists;
    if (!PyDict_Check(description)) {
        PyErr_SetString(PyExc_TypeError, "a call plan must be a dict");
        return -1;
    }
    if (take_form(plan, description) < 0 || take_parameters(plan, description) < 0 || take_saves(plan, description) < 0
        || take_aliases(plan, description) < 0 || take(description, "op", &plan->op) < 0
        || take(description, "label", &plan->label) < 0 || take(description, "xp", &plan->xp) < 0
        || take(description, "kernel", &plan->kernel) < 0 || take(description, "run", &plan->run) < 0
        || take(description, "returns", &plan->returns) < 0 || take(description, "ufunc", &plan->ufunc) < 0
        || take(description, "kernel_keywords", &plan->kernel_keywords) < 0
        || take(description, "check", &plan->check) < 0
        || take_number(description, "is_operator", &plan->is_operator) < 0
        || take_number(description, "is_view", &plan->is_view) < 0
        || take_number(description, "loud", &plan->loud) < 0
        || take_number(description, "is_elementwise", &plan->is_elementwise) < 0
        || take_number(description, "lies", &plan->lies) < 0
        || take_number(description, "any_dtype", &plan->any_dtype) < 0
        || take_number(description, "output_count", &plan->output_count) < 0
        || take_number(description, "nondifferentiable", &plan->nondifferentiable) < 0
        || take_numbers(description, "positional", plan->positional_places, &plan->positional_count, MOST_PARAMETERS) < 0
        || take_numbers(description, "tensors", plan->tensor_places, &plan->tensor_count, MOST_TENSORS) < 0
        || take_numbers(description, "alike", plan->alike, &nothing, MOST_TENSORS) < 0
        || take_numbers(description, "edges", plan->edges, &plan->edge_count, MOST_TENSORS) < 0
        || take_number(description, "edges_of_list", &lists) < 0 || !is_consistent(plan)) {
        return -1;
    }
    plan->has_rules = lists || plan->edge_count > 0;
    PyObject *short_name = item(description, "short_name"), *names = item(description, "parameter_names");
    if (short_name == NULL || names == NULL || !PyUnicode_Check(short_name) || !PyUnicode_Check(names)) {
        return -1;
    }
    plan->short_kernel = find_short_kernel(short_name, names);
    choose_kernel(plan);
    return 0;
}

/* ---- references --------------------------------------------------------------------------------------------- */

int
visit_plan(const CallPlan *plan, visitproc visit, void *arg)
{
    Py_VISIT(plan->op);
    Py_VISIT(plan->kernel);
    Py_VISIT(plan->check);
    Py_VISIT(plan->run);
    Py_VISIT(plan->returns);
    for (int index = 0; index < plan->parameter_count; index++) {
        Py_VISIT(plan->parameters[index].initial);
    }
    return 0;
}

void
clear_plan(CallPlan *plan)
{
    Py_CLEAR(plan->op);
    Py_CLEAR(plan->label);
    Py_CLEAR(plan->xp);
    Py_CLEAR(plan->kernel);
    Py_CLEAR(plan->check);
    Py_CLEAR(plan->run);
    Py_CLEAR(plan->returns);
    Py_CLEAR(plan->ufunc);
    Py_CLEAR(plan->kernel_keywords);
    for (int index = 0; index < MOST_PARAMETERS; index++) {
        Py_CLEAR(plan->parameters[index].name);
        Py_CLEAR(plan->parameters[index].initial);
    }
    for (int index = 0; index < plan->alias_count; index++) {
        Py_CLEAR(plan->aliases[index].name);
    }
}
