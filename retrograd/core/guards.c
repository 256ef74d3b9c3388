/* The guards of a recorded step, all in one call: `replay.reading.guards` is the definition.
 *
 * `check(args, kwargs)` looks at each place in order and gives the list of loaded values, or None at the first guard
 * that does not hold. What has no short form here (odd containers, views with a history, rare kinds of numbers) is
 * asked of the Python functions `same` and `facts`.
 *
 * Most guards look for keys in dictionaries that stay: modules, classes, globals. A dictionary counts its changes (up
 * to CPython 3.12), so those of one that has not changed since they last held are not looked at again.
 */
#include "core.h"

#include <stddef.h>

enum { BY_SELF, BY_KEY, BY_INDEX, BY_CELL, BY_ATTRIBUTE, BY_DICT, BY_CODE, BY_DEFAULTS, BY_KWDEFAULTS, BY_GRAD_MODE, BY_FUNCTION_MODE };
enum { SAME, EQUAL, ABSENT, LENGTH, KEYS, TYPE, FACTS, LOAD, REGISTER, GRAD };

/* `facts` of a tensor, in the order of the Python tuple. */
typedef struct {
    PyObject *expected; /* the tuple, which has the references to what follows; None: no tensor */
    PyTypeObject *type, *array_type;
    PyArray_Descr *dtype;
    int ndim, requires_grad, no_history, no_view, hooked, rare;
    npy_intp *sizes; /* shape, then strides */
} Facts;

typedef struct {
    int access, test, source, target;
    Py_ssize_t number; /* an index, or a length */
    PyObject *key, *expected;
    Facts *facts;
} Guard;

/* A dictionary that stays, and the guards that look into it. */
typedef struct {
    PyObject *dict; /* borrowed: it is in a register */
    uint64_t version;
    Py_ssize_t first, end;
} Group;

/* A tensor whose memory is looked at: as FACTS hold, its bounds follow from where its elements begin. */
typedef struct {
    int source, empty;
    char *data;
    npy_intp low, high;
} Region;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Py_ssize_t guard_count, register_count, loaded_count, region_count, group_count;
    Guard *guards; /* those of the groups first */
    Group *groups;
    PyObject **registers; /* NULL where a check fills it */
    int *loaded;
    Region *regions;
    char *overlaps; /* region_count squared; NULL: none overlap */
    PyObject *same, *facts;
} Guards;

/* ---- tests -------------------------------------------------------------------------------------------------- */

/* 1, 0, or -1 with an error set; so do all functions below. */
static int
is_same(Guards *self, PyObject *found, PyObject *expected)
{
    if (found == expected) {
        return 1;
    }
    PyTypeObject *type = Py_TYPE(expected);
    if (Py_TYPE(found) != type || type == &PyBool_Type) {
        return 0;
    }
    if (type == &PyLong_Type || type == &PyUnicode_Type) {
        return PyObject_RichCompareBool(found, expected, Py_EQ);
    }
    if (type == &PyFloat_Type) {
        double one = PyFloat_AS_DOUBLE(found), other = PyFloat_AS_DOUBLE(expected);
        return memcmp(&one, &other, sizeof one) == 0 || (one != one && other != other);
    }
    if (PyTuple_Check(expected)) {
        if (PyTuple_GET_SIZE(found) != PyTuple_GET_SIZE(expected)) {
            return 0;
        }
    }
    else if (type != &PyComplex_Type && type != &PyBytes_Type && type != &PySlice_Type && type != &PyRange_Type) {
        return 0;
    }
    PyObject *answer = PyObject_CallFunctionObjArgs(self->same, found, expected, NULL);
    if (answer == NULL) {
        return -1;
    }
    int result = PyObject_IsTrue(answer);
    Py_DECREF(answer);
    return result;
}

static int
has_entries(PyObject *object, Py_ssize_t offset)
{
    PyObject *value = SLOT(object, offset);
    return value != NULL && value != Py_None && (!PyDict_Check(value) || PyDict_GET_SIZE(value) > 0);
}

static int
is_true(PyObject *object, Py_ssize_t offset)
{
    return SLOT(object, offset) == Py_True;
}

static int
facts_by_python(Guards *self, PyObject *tensor, const Facts *facts)
{
    PyObject *now = PyObject_CallOneArg(self->facts, tensor);
    if (now == NULL) {
        return -1;
    }
    int result = PyObject_RichCompareBool(now, facts->expected, Py_EQ);
    Py_DECREF(now);
    return result;
}

static int
facts_hold(Guards *self, PyObject *tensor, const Facts *facts)
{
    if (Py_TYPE(tensor) != facts->type) {
        return 0;
    }
    PyObject *array = SLOT(tensor, in_tensor.array), *view = SLOT(tensor, in_tensor.view);
    if (array == NULL || Py_TYPE(array) != facts->array_type || !PyArray_Check(array)
        || PyArray_NDIM(ARRAY(array)) != facts->ndim || (view == Py_None) != facts->no_view) {
        return 0;
    }
    size_t bytes = sizeof(npy_intp) * (size_t)facts->ndim;
    if (facts->ndim > 0 && (memcmp(PyArray_DIMS(ARRAY(array)), facts->sizes, bytes) != 0
                            || memcmp(PyArray_STRIDES(ARRAY(array)), facts->sizes + facts->ndim, bytes) != 0)) {
        return 0;
    }
    PyArray_Descr *dtype = PyArray_DESCR(ARRAY(array));
    if (dtype != facts->dtype && !PyArray_EquivTypes(dtype, facts->dtype)) {
        return 0;
    }
    int flag = requires_grad(tensor);
    if (flag != facts->requires_grad) {
        return 0;
    }
    if (view != Py_None && flag) {
        return facts_by_python(self, tensor, facts); /* the base may have been written */
    }
    if ((SLOT(tensor, in_tensor.grad_fn) == Py_None) != facts->no_history) {
        return 0;
    }
    PyObject *meta = SLOT(tensor, in_tensor.meta);
    int hooked = 0, rare = 0;
    if (meta != Py_None) {
        hooked = has_entries(meta, in_meta.hooks) || has_entries(meta, in_meta.post_accumulate_hooks)
                 || is_true(meta, in_meta.retains_grad);
        rare = is_true(meta, in_meta.inference) || has_entries(meta, in_meta.tangents)
               || SLOT(meta, in_meta.grad_dtype) != Py_Ellipsis;
    }
    return hooked == facts->hooked && rare == facts->rare;
}

static int
grad_holds(Guards *self, PyObject *tensor, const Facts *facts)
{
    if (!is_tensor(tensor)) {
        return 0;
    }
    PyObject *meta = SLOT(tensor, in_tensor.meta);
    PyObject *grad = meta == Py_None ? Py_None : SLOT(meta, in_meta.grad);
    if (grad == Py_None || facts->expected == Py_None) {
        return grad == facts->expected;
    }
    return facts_hold(self, grad, facts);
}

static int
keys_hold(Guards *self, PyObject *found, PyObject *expected)
{
    Py_ssize_t count = PyDict_CheckExact(found) ? PyDict_GET_SIZE(found) : PyObject_Size(found);
    if (count != PyTuple_GET_SIZE(expected)) {
        return count < 0 ? -1 : 0;
    }
    if (count == 0) {
        return 1;
    }
    if (PyDict_CheckExact(found)) {
        PyObject *key, *value;
        Py_ssize_t position = 0;
        for (Py_ssize_t index = 0; PyDict_Next(found, &position, &key, &value); index++) {
            if (key != PyTuple_GET_ITEM(expected, index)) {
                int same = is_same(self, key, PyTuple_GET_ITEM(expected, index));
                if (same != 1) {
                    return same;
                }
            }
        }
        return 1;
    }
    PyObject *keys = PySequence_Tuple(found);
    if (keys == NULL) {
        return -1;
    }
    int result = PyTuple_GET_SIZE(keys) == count;
    for (Py_ssize_t index = 0; result == 1 && index < count; index++) {
        result = is_same(self, PyTuple_GET_ITEM(keys, index), PyTuple_GET_ITEM(expected, index));
    }
    Py_DECREF(keys);
    return result;
}

static int
length_holds(PyObject *found, Py_ssize_t expected)
{
    Py_ssize_t count = PyDict_CheckExact(found) ? PyDict_GET_SIZE(found) : PyObject_Size(found);
    return count < 0 ? -1 : count == expected;
}

/* ---- places ------------------------------------------------------------------------------------------------- */

/* What is at a guard's place, borrowed, or a new reference that is also in *own; NULL: nothing, or an error. */
static PyObject *
look(const Guard *guard, PyObject *holder, PyObject **own)
{
    switch (guard->access) {
    case BY_SELF:
        return holder;
    case BY_KEY:
        if (!PyDict_Check(holder)) {
            PyErr_SetString(PyExc_TypeError, "a guard looks for a key in what is no dictionary");
            return NULL;
        }
        return PyDict_GetItemWithError(holder, guard->key);
    case BY_INDEX: {
        Py_ssize_t at = guard->number;
        if (!PyList_CheckExact(holder) && !PyTuple_CheckExact(holder)) {
            return *own = PySequence_GetItem(holder, at);
        }
        at += at < 0 ? Py_SIZE(holder) : 0;
        return at < 0 || at >= Py_SIZE(holder) ? NULL
               : PyList_CheckExact(holder)     ? PyList_GET_ITEM(holder, at)
                                               : PyTuple_GET_ITEM(holder, at);
    }
    case BY_CELL:
        return PyCell_GET(holder);
    case BY_CODE:
        return PyFunction_GET_CODE(holder);
    case BY_DEFAULTS: {
        PyObject *found = PyFunction_GET_DEFAULTS(holder);
        return found == NULL ? Py_None : found;
    }
    case BY_KWDEFAULTS: {
        PyObject *found = PyFunction_GET_KW_DEFAULTS(holder);
        return found == NULL ? Py_None : found;
    }
    case BY_DICT:
        return *own = PyObject_GenericGetDict(holder, NULL);
    case BY_GRAD_MODE: {
        int enabled = grad_is_enabled();
        return enabled < 0 ? NULL : enabled ? Py_True : Py_False;
    }
    case BY_FUNCTION_MODE:
        if (!core_calls_python) {
            return guard->expected; /* no thread has one */
        }
        return *own = PyObject_GetAttr(holder, guard->key);
    default:
        return *own = PyObject_GetAttr(holder, guard->key);
    }
}

static int
is_odd_place(void)
{
    if (PyErr_ExceptionMatches(PyExc_AttributeError) || PyErr_ExceptionMatches(PyExc_IndexError)) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

/* Whether a guard holds; values has the registers, those that checks fill with references of their own. */
static int
holds(Guards *self, const Guard *guard, PyObject **values)
{
    PyObject *own = NULL, *found = look(guard, values[guard->source], &own), *expected = guard->expected;
    if (found == NULL) {
        return PyErr_Occurred() && is_odd_place() ? -1 : guard->test == ABSENT;
    }
    int result;
    switch (guard->test) {
    case ABSENT:
        result = 0;
        break;
    case LENGTH:
        result = length_holds(found, guard->number);
        break;
    case KEYS:
        result = keys_hold(self, found, expected);
        break;
    case TYPE:
        result = (PyObject *)Py_TYPE(found) == expected;
        break;
    case FACTS:
        result = facts_hold(self, found, guard->facts);
        break;
    case GRAD:
        result = grad_holds(self, found, guard->facts);
        break;
    case LOAD:
        result = (PyObject *)Py_TYPE(found) == expected;
        Py_XSETREF(values[guard->target], Py_NewRef(found));
        break;
    case REGISTER:
        result = found == values[guard->target];
        break;
    default:
        result = found == expected ? 1 : is_same(self, found, expected);
    }
    Py_XDECREF(own);
    return result;
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

static int
regions_hold(Guards *self, PyObject **values)
{
    Py_ssize_t count = self->region_count;
    int moved = 0;
    for (Py_ssize_t index = 0; index < count; index++) {
        Region *region = self->regions + index;
        char *data = PyArray_BYTES(ARRAY(SLOT(values[region->source], in_tensor.array)));
        if (data != region->data) {
            region->data = data;
            moved = 1;
        }
    }
    for (Py_ssize_t one = 0; moved && one < count; one++) {
        const Region *first = self->regions + one;
        for (Py_ssize_t two = one + 1; two < count; two++) {
            const Region *second = self->regions + two;
            int overlap = !first->empty && !second->empty && first->data + first->low < second->data + second->high
                          && second->data + second->low < first->data + first->high;
            if (overlap != (self->overlaps != NULL && self->overlaps[one * count + two])) {
                self->regions[0].data = NULL; /* looks again next time */
                return 0;
            }
        }
    }
    return 1;
}

/* ---- the call ----------------------------------------------------------------------------------------------- */

/* A number that differs after every change of a dictionary; 0 where there is none. */
static inline uint64_t
version_of(PyObject *dict)
{
#if PY_VERSION_HEX < 0x030D0000 /* later ones do not count what is stored by attribute */
    _Py_COMP_DIAG_PUSH
    _Py_COMP_DIAG_IGNORE_DEPR_DECLS
    return ((PyDictObject *)dict)->ma_version_tag;
    _Py_COMP_DIAG_POP
#else
    (void)dict;
    return 0;
#endif
}

static int
all_hold(Guards *self, Py_ssize_t first, Py_ssize_t end, PyObject **values)
{
    int result = 1;
    for (; result == 1 && first < end; first++) {
        result = holds(self, self->guards + first, values);
    }
    return result;
}

static PyObject *
check_with(Guards *self, PyObject **values)
{
    Py_ssize_t grouped = 0;
    int result = 1;
    for (Py_ssize_t index = 0; result == 1 && index < self->group_count; index++) {
        Group *group = self->groups + index;
        uint64_t version = version_of(group->dict);
        grouped = group->end;
        if (version == 0 || version != group->version) {
            result = all_hold(self, group->first, group->end, values);
            group->version = result == 1 ? version : 0;
        }
    }
    result = result == 1 ? all_hold(self, grouped, self->guard_count, values) : result;
    if (result != 1) {
        return result < 0 ? NULL : Py_NewRef(Py_None);
    }
    if (!regions_hold(self, values)) {
        Py_RETURN_NONE;
    }
    PyObject *found = PyList_New(self->loaded_count);
    for (Py_ssize_t index = 0; found != NULL && index < self->loaded_count; index++) {
        PyList_SET_ITEM(found, index, Py_NewRef(values[self->loaded[index]]));
    }
    return found;
}

static PyObject *
guards_call(PyObject *object, PyObject *const *args, size_t given, PyObject *names)
{
    Guards *self = (Guards *)object;
    if (PyVectorcall_NARGS(given) != 2 || names != NULL || !PyTuple_Check(args[0]) || !PyDict_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "check() takes a tuple of arguments and a dictionary of keyword arguments");
        return NULL;
    }
    PyObject *few[128], **values = few;
    if (self->register_count > 128) {
        values = PyMem_New(PyObject *, self->register_count);
        if (values == NULL) {
            return PyErr_NoMemory();
        }
    }
    memcpy(values, self->registers, sizeof(PyObject *) * (size_t)self->register_count);
    values[0] = args[0];
    values[1] = args[1];
    PyObject *result = check_with(self, values);
    for (Py_ssize_t index = 0; index < self->loaded_count; index++) {
        Py_XDECREF(values[self->loaded[index]]);
    }
    if (values != few) {
        PyMem_Free(values);
    }
    return result;
}

/* ---- making one --------------------------------------------------------------------------------------------- */

static int
read_sizes(PyObject *tuple, npy_intp *into)
{
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(tuple); index++) {
        into[index] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, index));
    }
    return PyErr_Occurred() ? -1 : 0;
}

static Facts *
read_facts(PyObject *expected)
{
    Facts *facts = PyMem_Calloc(1, sizeof *facts);
    if (facts == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    facts->expected = expected;
    if (expected == Py_None) {
        return facts;
    }
    PyObject *shape, *strides;
    if (!PyArg_ParseTuple(expected, "O!O!O!O!O!ppppp", &PyType_Type, &facts->type, &PyType_Type, &facts->array_type,
                          &PyArrayDescr_Type, &facts->dtype, &PyTuple_Type, &shape, &PyTuple_Type, &strides,
                          &facts->requires_grad, &facts->no_history, &facts->no_view, &facts->hooked, &facts->rare)) {
        PyMem_Free(facts);
        return NULL;
    }
    facts->ndim = (int)PyTuple_GET_SIZE(shape);
    facts->sizes = PyMem_New(npy_intp, 2 * (size_t)facts->ndim + 1);
    if (facts->sizes == NULL || read_sizes(shape, facts->sizes) < 0
        || read_sizes(strides, facts->sizes + facts->ndim) < 0) {
        PyMem_Free(facts->sizes);
        PyMem_Free(facts);
        return NULL;
    }
    return facts;
}

/* A shorter way to an attribute, where there is one. */
static int
access_of(int access, PyObject *holder, PyObject *key)
{
    if (access != BY_ATTRIBUTE || !PyUnicode_Check(key)) {
        return access;
    }
    if (PyUnicode_CompareWithASCIIString(key, "__dict__") == 0) {
        return BY_DICT;
    }
    if (holder != NULL && PyFunction_Check(holder)) {
        return PyUnicode_CompareWithASCIIString(key, "__code__") == 0         ? BY_CODE
               : PyUnicode_CompareWithASCIIString(key, "__defaults__") == 0   ? BY_DEFAULTS
               : PyUnicode_CompareWithASCIIString(key, "__kwdefaults__") == 0 ? BY_KWDEFAULTS
                                                                              : access;
    }
    if (holder == objects.STATE && PyUnicode_CompareWithASCIIString(key, "grad_enabled") == 0) {
        return BY_GRAD_MODE;
    }
    if (holder != NULL && PyUnicode_CompareWithASCIIString(key, "modes") == 0
        && strcmp(Py_TYPE(holder)->tp_name, "_Stack") == 0) {
        return BY_FUNCTION_MODE;
    }
    return access;
}

static int
read_guard(Guards *self, Guard *guard, PyObject *record)
{
    PyObject *key, *expected, *path;
    if (!PyArg_ParseTuple(record, "iiiOOiO", &guard->access, &guard->test, &guard->source, &key, &expected,
                          &guard->target, &path)) {
        return -1;
    }
    Py_ssize_t count = self->register_count;
    if (guard->source < 0 || guard->source >= count || guard->target >= count) {
        PyErr_SetString(PyExc_ValueError, "a guard names a register that is not there");
        return -1;
    }
    guard->key = Py_NewRef(key);
    guard->expected = Py_NewRef(expected);
    PyObject *holder = self->registers[guard->source];
    if (guard->access == BY_INDEX || guard->test == LENGTH) {
        guard->number = PyLong_AsSsize_t(guard->access == BY_INDEX ? key : expected);
        if (guard->number == -1 && PyErr_Occurred()) {
            return -1;
        }
    }
    if (guard->access == BY_CELL && (holder == NULL || !PyCell_Check(holder))) {
        PyErr_SetString(PyExc_TypeError, "a guard looks into what is no cell");
        return -1;
    }
    guard->access = access_of(guard->access, holder, key);
    if (guard->test == FACTS || guard->test == GRAD) {
        guard->facts = read_facts(expected);
        return guard->facts == NULL ? -1 : 0;
    }
    return 0;
}

static int
read_regions(Guards *self, PyObject *regions, PyObject *overlaps)
{
    Py_ssize_t count = self->region_count;
    for (Py_ssize_t index = 0; index < count; index++) {
        Region *region = self->regions + index;
        Py_ssize_t low, high;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(regions, index), "inn", &region->source, &low, &high)) {
            return -1;
        }
        region->low = low;
        region->high = high;
        region->empty = low == high;
    }
    if (PyTuple_GET_SIZE(overlaps) == 0) {
        return 0;
    }
    self->overlaps = PyMem_Calloc((size_t)count, (size_t)count);
    if (self->overlaps == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(overlaps); index++) {
        Py_ssize_t one, two;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(overlaps, index), "nn", &one, &two)) {
            return -1;
        }
        self->overlaps[one * count + two] = 1;
    }
    return 0;
}

/* Whether a guard depends on nothing but the entries of a dictionary that stays. */
static PyObject *
dict_of(const Guards *self, const Guard *guard)
{
    PyObject *holder = self->registers[guard->source];
    int fits = guard->access == BY_KEY ? guard->test == SAME || guard->test == EQUAL || guard->test == ABSENT
                                       : guard->access == BY_SELF && (guard->test == LENGTH || guard->test == KEYS);
    return fits && holder != NULL && PyDict_Check(holder) ? holder : NULL;
}

/* Puts the guards of each dictionary together, in front; the others keep their order. */
static int
make_groups(Guards *self)
{
    Py_ssize_t count = self->guard_count, placed = 0;
    Guard *sorted = PyMem_Calloc((size_t)count + 1, sizeof *sorted);
    char *taken = PyMem_Calloc((size_t)count + 1, 1);
    self->groups = PyMem_Calloc((size_t)count + 1, sizeof *self->groups);
    if (sorted == NULL || taken == NULL || self->groups == NULL) {
        PyMem_Free(sorted);
        PyMem_Free(taken);
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *dict = taken[index] ? NULL : dict_of(self, self->guards + index);
        if (dict == NULL) {
            continue;
        }
        Group *group = self->groups + self->group_count++;
        *group = (Group){dict, 0, placed, placed};
        for (Py_ssize_t other = index; other < count; other++) {
            if (!taken[other] && dict_of(self, self->guards + other) == dict) {
                taken[other] = 1;
                sorted[placed++] = self->guards[other];
            }
        }
        group->end = placed;
    }
    for (Py_ssize_t index = 0; index < count; index++) {
        if (!taken[index]) {
            sorted[placed++] = self->guards[index];
        }
    }
    PyMem_Free(taken);
    PyMem_Free(self->guards);
    self->guards = sorted;
    return 0;
}

static int
guards_traverse(PyObject *object, visitproc visit, void *arg)
{
    Guards *self = (Guards *)object;
    for (Py_ssize_t index = 0; index < self->guard_count; index++) {
        Py_VISIT(self->guards[index].key);
        Py_VISIT(self->guards[index].expected);
    }
    for (Py_ssize_t index = 0; index < self->register_count; index++) {
        Py_VISIT(self->registers[index]);
    }
    Py_VISIT(self->same);
    Py_VISIT(self->facts);
    return 0;
}

static int
guards_clear(PyObject *object)
{
    Guards *self = (Guards *)object;
    Py_ssize_t guards = self->guard_count, registers = self->register_count;
    self->guard_count = self->register_count = self->region_count = self->loaded_count = self->group_count = 0;
    for (Py_ssize_t index = 0; index < guards; index++) {
        Guard *guard = self->guards + index;
        if (guard->facts != NULL) {
            PyMem_Free(guard->facts->sizes);
            PyMem_Free(guard->facts);
        }
        Py_XDECREF(guard->key);
        Py_XDECREF(guard->expected);
    }
    for (Py_ssize_t index = 0; index < registers; index++) {
        Py_XDECREF(self->registers[index]);
    }
    Py_CLEAR(self->same);
    Py_CLEAR(self->facts);
    return 0;
}

static void
guards_dealloc(PyObject *object)
{
    Guards *self = (Guards *)object;
    PyObject_GC_UnTrack(object);
    guards_clear(object);
    PyMem_Free(self->guards);
    PyMem_Free(self->groups);
    PyMem_Free(self->registers);
    PyMem_Free(self->loaded);
    PyMem_Free(self->regions);
    PyMem_Free(self->overlaps);
    Py_TYPE(object)->tp_free(object);
}

static int
take_registers(Guards *self, PyObject *registers, PyObject *loaded)
{
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(registers); index++) {
        PyObject *value = PyTuple_GET_ITEM(registers, index);
        self->registers[index] = value == Py_None ? NULL : Py_NewRef(value);
    }
    self->register_count = PyTuple_GET_SIZE(registers);
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(loaded); index++) {
        int number = (int)PyLong_AsLong(PyTuple_GET_ITEM(loaded, index));
        if (number < 2 || number >= self->register_count || self->registers[number] != NULL) {
            PyErr_SetString(PyExc_ValueError, "a register that is loaded is not there, or not empty");
            return -1;
        }
        self->loaded[index] = number;
    }
    self->loaded_count = PyTuple_GET_SIZE(loaded);
    return 0;
}

static PyObject *
guards_new(PyTypeObject *type, PyObject *args, PyObject *options)
{
    PyObject *records, *registers, *loaded, *regions, *overlaps, *same, *facts;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!OO", &PyTuple_Type, &records, &PyTuple_Type, &registers, &PyTuple_Type,
                          &loaded, &PyTuple_Type, &regions, &PyTuple_Type, &overlaps, &same, &facts)) {
        return NULL;
    }
    Guards *self = (Guards *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(records);
    self->call = guards_call;
    self->same = Py_NewRef(same);
    self->facts = Py_NewRef(facts);
    self->guards = PyMem_Calloc((size_t)count + 1, sizeof *self->guards);
    self->registers = PyMem_Calloc((size_t)PyTuple_GET_SIZE(registers) + 1, sizeof *self->registers);
    self->loaded = PyMem_Calloc((size_t)PyTuple_GET_SIZE(loaded) + 1, sizeof *self->loaded);
    self->regions = PyMem_Calloc((size_t)PyTuple_GET_SIZE(regions) + 1, sizeof *self->regions);
    int failed = self->guards == NULL || self->registers == NULL || self->loaded == NULL || self->regions == NULL;
    if (failed) {
        PyErr_NoMemory();
    }
    failed = failed || !core_ready || take_registers(self, registers, loaded) < 0;
    for (Py_ssize_t index = 0; !failed && index < count; index++) {
        self->guard_count = index + 1;
        failed = read_guard(self, self->guards + index, PyTuple_GET_ITEM(records, index)) < 0;
    }
    self->region_count = failed ? 0 : PyTuple_GET_SIZE(regions);
    if (failed || make_groups(self) < 0 || read_regions(self, regions, overlaps) < 0) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_RuntimeError, "the core is not set up");
        }
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyTypeObject GuardsType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "retrograd.core._core.Guards",
    .tp_basicsize = sizeof(Guards),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Guards, call),
    .tp_call = PyVectorcall_Call,
    .tp_new = guards_new,
    .tp_traverse = guards_traverse,
    .tp_clear = guards_clear,
    .tp_dealloc = guards_dealloc,
    .tp_doc = "The compiled check of a recorded step's guards.",
};

static int
add_guards(PyObject *module)
{
    return PyModule_AddType(module, &GuardsType);
}

const Part guards_part = {NULL, NULL, add_guards, NULL};
