/* The walk over a graph, from its roots to its leaves, newest node first: `engine._walk_raw` and `_walk_general`.
 *
 * Every edge is counted first, so that a node runs once, after all its consumers. What waits for a node stands in an
 * entry of a table that belongs to this walk alone: another thread, or a hook, may walk the same graph at the same
 * time. Nodes that have hooks, leaves that are not plain, results of other kinds go to the Python functions, one by
 * one. There is no recursion.
 */
#include "engine.h"

/* Python functions of the engine */
static PyObject *graph_root;     /* the class GraphRoot */
static PyObject *run_hooked;     /* a node with hooks */
static PyObject *run_general;    /* any node */
static PyObject *hook_gradient;  /* the tensor hooks of a node that does not run */
static PyObject *gathered;       /* adds a part to what waits for a node */
static PyObject *as_dtype;       /* a gradient in another type */
static PyObject *as_captured;    /* a gradient as `grad()` returns it */
static PyObject *set_grad_mode;
static PyObject *in_hook;        /* why gradients are off in a hook */
static PyObject *sum_to, *add, *breathe;
static PyObject *sum_to_size;    /* the recorded op of that name */
static PyObject *raw_keyword;    /* ("raw",) */

#define NONE (-1)

/* ---- the table ---------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject *node;   /* a reference of its own: a hook may take a graph apart */
    PyObject *buffer; /* the gradient so far: array, Tensor, or a list for several outputs; NULL: none */
    long long sequence;
    int pending;      /* edges that have not delivered yet */
    int first_capture; /* index of a `Capture`, or NONE */
    char owned;       /* `buffer` is the walk's to write */
    char needed;      /* on a path to an input: runs */
    char live;        /* needed or an input: a gradient for it is kept */
    char seen;
} Entry;

typedef struct {
    int input;  /* its index among the inputs */
    int number; /* of the node's output */
    int next;   /* another capture at the same node, or NONE */
} Capture;

typedef struct {
    long long sequence;
    long long tick; /* keeps ties in order */
    int entry;
} Ready;

typedef struct {
    Entry *entries;
    int count, room;
    int *slots; /* a hash table of indices of entries, NONE where free */
    int slot_count; /* a power of two */
    Ready *heap;
    int heap_count, heap_room;
    long long ticks;
    Capture *captures;
    PyObject *call, *freeing;
    PyObject *kept;     /* a set of nodes that are not freed, whatever `freeing` says; NULL: none */
    PyObject *live_set; /* of nodes, made when a Python function has to see it */
    PyObject *captured; /* list: what arrived at the inputs */
    int as_tensors, restricted;
    int mode_is_set;    /* this thread's grad mode is that of rules */
    Chain chain;        /* what rules have put off */
    long nodes_begun;
} Walk;

static unsigned
hash_of(PyObject *node)
{
    return (unsigned)((((size_t)node >> 4) * 0x9E3779B97F4A7C15ull) >> 32);
}

/* The entry of a node, or NONE; `place` gets where it is, or would go. */
static int
find(const Walk *walk, PyObject *node, unsigned *place)
{
    const unsigned mask = (unsigned)walk->slot_count - 1;
    unsigned slot = hash_of(node) & mask;
    while (walk->slots[slot] != NONE) {
        if (walk->entries[walk->slots[slot]].node == node) {
            *place = slot;
            return walk->slots[slot];
        }
        slot = (slot + 1) & mask;
    }
    *place = slot;
    return NONE;
}

static int
grow_slots(Walk *walk)
{
    const int wider = walk->slot_count * 2;
    int *slots = PyMem_New(int, wider);
    if (slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memset(slots, -1, sizeof *slots * (size_t)wider);
    PyMem_Free(walk->slots);
    walk->slots = slots;
    walk->slot_count = wider;
    for (int index = 0; index < walk->count; index++) {
        unsigned place;
        find(walk, walk->entries[index].node, &place);
        slots[place] = index;
    }
    return 0;
}

/* A new entry for a node that has none. Its index; -1 with an error set; -2: a node that is not a case for C. */
static int
enter(Walk *walk, PyObject *node, unsigned place)
{
    PyObject *edges = SLOT(node, in_node.edges), *number = SLOT(node, in_node.sequence);
    if (edges == NULL || !PyTuple_CheckExact(edges) || number == NULL || !PyLong_CheckExact(number)) {
        return -2;
    }
    int overflow;
    const long long sequence = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || walk->count >= INT_MAX / 4) {
        return -2;
    }
    if (2 * (walk->count + 1) > walk->slot_count) {
        if (grow_slots(walk) < 0) {
            return -1;
        }
        find(walk, node, &place);
    }
    if (walk->count == walk->room) {
        Entry *entries = walk->entries;
        if (PyMem_Resize(entries, Entry, (size_t)walk->room * 2) == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        walk->entries = entries;
        walk->room *= 2;
    }
    Entry *entry = &walk->entries[walk->count];
    memset(entry, 0, sizeof *entry);
    entry->node = Py_NewRef(node);
    entry->sequence = sequence;
    entry->first_capture = NONE;
    walk->slots[place] = walk->count;
    return walk->count++;
}

#define FIRST_ROOM 64

static int
walk_open(Walk *walk)
{
    walk->room = walk->heap_room = FIRST_ROOM;
    walk->slot_count = 4 * FIRST_ROOM;
    walk->entries = PyMem_New(Entry, walk->room);
    walk->slots = PyMem_New(int, walk->slot_count);
    walk->heap = PyMem_New(Ready, walk->heap_room);
    if (walk->entries == NULL || walk->slots == NULL || walk->heap == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memset(walk->slots, -1, sizeof *walk->slots * (size_t)walk->slot_count);
    return 0;
}

/* Whatever happened: nothing of the walk stays behind. */
static void
walk_close(Walk *walk)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (int index = 0; walk->entries != NULL && index < walk->count; index++) {
        Py_XDECREF(walk->entries[index].buffer);
        Py_DECREF(walk->entries[index].node);
    }
    PyMem_Free(walk->entries);
    PyMem_Free(walk->slots);
    PyMem_Free(walk->heap);
    PyMem_Free(walk->captures);
    Py_XDECREF(walk->live_set);
    Py_XDECREF(walk->captured);
    chain_close(&walk->chain);
    PyErr_Restore(type, value, traceback);
}

/* ---- ready nodes: a heap, newest first ---------------------------------------------------------------------- */

static inline int
comes_before(const Ready *first, const Ready *second)
{
    return first->sequence > second->sequence || (first->sequence == second->sequence && first->tick < second->tick);
}

static int
push(Walk *walk, int entry)
{
    if (walk->heap_count == walk->heap_room) {
        Ready *heap = walk->heap;
        if (PyMem_Resize(heap, Ready, (size_t)walk->heap_room * 2) == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        walk->heap = heap;
        walk->heap_room *= 2;
    }
    const Ready item = {walk->entries[entry].sequence, ++walk->ticks, entry};
    int place = walk->heap_count++;
    while (place > 0 && comes_before(&item, &walk->heap[(place - 1) / 2])) {
        walk->heap[place] = walk->heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    walk->heap[place] = item;
    return 0;
}

static int
pop(Walk *walk)
{
    const int first = walk->heap[0].entry;
    const Ready last = walk->heap[--walk->heap_count];
    int place = 0;
    for (;;) {
        int child = 2 * place + 1;
        if (child >= walk->heap_count) {
            break;
        }
        if (child + 1 < walk->heap_count && comes_before(&walk->heap[child + 1], &walk->heap[child])) {
            child++;
        }
        if (!comes_before(&walk->heap[child], &last)) {
            break;
        }
        walk->heap[place] = walk->heap[child];
        place = child;
    }
    walk->heap[place] = last;
    return first;
}

/* ---- counting edges, and which nodes are needed ------------------------------------------------------------- */

/* Enters every node behind `root` and counts the edges that lead to each. The index of the root, or -1, -2. */
static int
count_edges(Walk *walk, PyObject *root)
{
    unsigned place;
    find(walk, root, &place);
    const int first = enter(walk, root, place);
    /* entries come in the order in which they are found: those that were not looked at yet are the last ones */
    for (int index = 0; first >= 0 && index < walk->count; index++) {
        PyObject *edges = SLOT(walk->entries[index].node, in_node.edges);
        const Py_ssize_t count = PyTuple_GET_SIZE(edges);
        for (Py_ssize_t edge = 0; edge < count; edge++) {
            PyObject *target = PyTuple_GET_ITEM(edges, edge);
            if (target == Py_None) {
                continue;
            }
            int found = find(walk, target, &place);
            if (found == NONE) {
                if (!PyObject_TypeCheck(target, objects.Node)) {
                    return -2;
                }
                found = enter(walk, target, place);
                if (found < 0) {
                    return found;
                }
            }
            walk->entries[found].pending++;
        }
    }
    return first;
}

/* A node is needed if an edge leads to one that is, or to an input. Consumers come after what they consume in the
 * order of a depth-first walk, which is followed without recursion. */
static int
mark_needed(Walk *walk, int root)
{
    struct {
        int entry;
        Py_ssize_t edge;
    } *stack = PyMem_Malloc(sizeof *stack * (size_t)walk->count);
    if (stack == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int depth = 0;
    stack[depth].entry = root;
    stack[depth++].edge = 0;
    walk->entries[root].seen = 1;
    while (depth > 0) {
        Entry *entry = &walk->entries[stack[depth - 1].entry];
        PyObject *edges = SLOT(entry->node, in_node.edges);
        const Py_ssize_t edge = stack[depth - 1].edge;
        unsigned place;
        if (edge > 0) { /* back from it, or it was known */
            PyObject *target = PyTuple_GET_ITEM(edges, edge - 1);
            const int found = target == Py_None ? NONE : find(walk, target, &place);
            if (found != NONE && (walk->entries[found].needed || walk->entries[found].first_capture != NONE)) {
                entry->needed = 1;
            }
        }
        if (edge >= PyTuple_GET_SIZE(edges)) {
            depth--;
            continue;
        }
        stack[depth - 1].edge++;
        PyObject *target = PyTuple_GET_ITEM(edges, edge);
        const int found = target == Py_None ? NONE : find(walk, target, &place);
        if (found != NONE && !walk->entries[found].seen) {
            walk->entries[found].seen = 1;
            stack[depth].entry = found;
            stack[depth++].edge = 0;
        }
    }
    PyMem_Free(stack);
    return 0;
}

/* Notes where the inputs are: `inputs` is a list of (node, number) and None. `grad()` looks at them, `backward()`
 * also runs them. */
static int
take_inputs(Walk *walk, PyObject *inputs, int root, int running)
{
    const Py_ssize_t count = PyList_GET_SIZE(inputs);
    walk->captures = PyMem_New(Capture, count + 1);
    if (walk->captures == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t index = count - 1; index >= 0; index--) { /* backwards: the chain is then in order */
        PyObject *input = PyList_GET_ITEM(inputs, index);
        unsigned place;
        if (input == Py_None) {
            continue;
        }
        const int found = find(walk, PyTuple_GET_ITEM(input, 0), &place);
        if (found == NONE) {
            continue;
        }
        const long number = PyLong_AsLong(PyTuple_GET_ITEM(input, 1));
        if (number == -1 && PyErr_Occurred()) {
            return -1;
        }
        walk->captures[index] = (Capture){(int)index, (int)number, walk->entries[found].first_capture};
        walk->entries[found].first_capture = (int)index;
        walk->entries[found].needed = (char)running;
    }
    if (mark_needed(walk, root) < 0) {
        return -1;
    }
    for (int index = 0; index < walk->count; index++) {
        Entry *entry = &walk->entries[index];
        entry->live = entry->needed || (!running && entry->first_capture != NONE);
        if (running) {
            entry->first_capture = NONE;
        }
    }
    return 0;
}

/* The nodes that a restricted walk keeps gradients for, as Python functions want it: a set, or None for all. */
static PyObject *
live_nodes(Walk *walk)
{
    if (!walk->restricted) {
        return Py_None;
    }
    if (walk->live_set == NULL) {
        PyObject *set = PySet_New(NULL);
        for (int index = 0; set != NULL && index < walk->count; index++) {
            if (walk->entries[index].live && PySet_Add(set, walk->entries[index].node) < 0) {
                Py_CLEAR(set);
            }
        }
        walk->live_set = set;
        if (set != NULL) {
            slot_set(walk->call, in_call.need, set);
        }
    }
    return walk->live_set;
}

/* ---- delivering --------------------------------------------------------------------------------------------- */

/* What waits for a node, with another part: by the Python function. Takes over neither reference. */
static int
gather_in_python(Walk *walk, int consumer, Py_ssize_t position, int target, PyObject *part)
{
    PyObject *place = chain_settle(&walk->chain) < 0 ? NULL : PyLong_FromSsize_t(position);
    if (place == NULL) {
        return -1;
    }
    PyObject *held = walk->entries[target].buffer;
    walk->entries[target].buffer = NULL;
    PyObject *arguments[6] = {held == NULL ? Py_None : held, walk->entries[consumer].node, place, walk->entries[target].node,
                              part, walk->as_tensors ? Py_True : Py_False};
    PyObject *sum = PyObject_Vectorcall(gathered, arguments, 6, NULL);
    Py_XDECREF(held);
    Py_DECREF(place);
    if (sum == NULL) {
        return -1;
    }
    walk->entries[target].buffer = sum;
    walk->entries[target].owned = 0;
    return 0;
}

/* Whether broadcasting turns a shape into that of an array with more elements or dimensions. */
static int
is_broadcast_of(PyObject *array, PyObject *shape)
{
    if (!PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) > PyArray_NDIM(ARRAY(array))) {
        return 0;
    }
    const int lead = PyArray_NDIM(ARRAY(array)) - (int)PyTuple_GET_SIZE(shape);
    for (Py_ssize_t axis = 0; axis < PyTuple_GET_SIZE(shape); axis++) {
        PyObject *size = PyTuple_GET_ITEM(shape, axis);
        const npy_intp number = PyLong_CheckExact(size) ? PyLong_AsSsize_t(size) : -1;
        if (number != 1 && number != PyArray_DIM(ARRAY(array), lead + (int)axis)) {
            PyErr_Clear();
            return 0;
        }
    }
    return 1;
}

/* A Tensor in the shape of a node's output, summed by a recorded op over what broadcasting added; the same where that
 * is not the case. Takes over the reference; NULL with an error set. */
static PyObject *
summed(PyObject *part, PyObject *shape)
{
    PyObject *array = is_tensor(part) ? SLOT(part, in_tensor.array) : Py_None;
    if (!PyArray_CheckExact(array) || shape_is(array, shape) || !is_broadcast_of(array, shape)) {
        return part;
    }
    PyObject *arguments[2] = {part, shape};
    PyObject *total = PyObject_Vectorcall(sum_to_size, arguments, 2, NULL);
    Py_DECREF(part);
    return total;
}

/* Adds a Tensor, recorded, to what waits. Takes over the reference. */
static int
deliver_tensor(Walk *walk, int consumer, Py_ssize_t position, int target, PyObject *part)
{
    part = summed(part, SLOT(walk->entries[target].node, in_node.shape));
    if (part == NULL) {
        return -1;
    }
    Entry *entry = &walk->entries[target];
    int done = -1;
    if (is_tensor(part) && PyArray_CheckExact(SLOT(part, in_tensor.array))
        && shape_is(SLOT(part, in_tensor.array), SLOT(entry->node, in_node.shape))) {
        if (entry->buffer == NULL) {
            entry->buffer = part;
            return 0;
        }
        PyObject *held = entry->buffer;
        entry->buffer = NULL;
        PyObject *sum = PyNumber_Add(held, part); /* may change the table's place: no entry after this */
        Py_DECREF(held);
        if (sum != NULL) {
            walk->entries[target].buffer = sum;
            done = 0;
        }
    }
    else {
        done = gather_in_python(walk, consumer, position, target, part);
    }
    Py_DECREF(part);
    return done;
}

/* The same for one of several outputs: 1 if it was done, 0 if it is not a plain case, -1 with an error set. */
static int
deliver_to_output(Walk *walk, int consumer, Py_ssize_t position, int target, PyObject *part)
{
    Entry *entry = &walk->entries[target];
    PyObject *shapes = SLOT(entry->node, in_node.shape), *dtypes = SLOT(entry->node, in_node.dtype);
    PyObject *numbers = SLOT(walk->entries[consumer].node, in_node.edge_numbers);
    Py_ssize_t number = 0;
    if (numbers != Py_None) {
        if (!PyTuple_CheckExact(numbers) || position >= PyTuple_GET_SIZE(numbers)) {
            return 0;
        }
        number = PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, position));
    }
    if (!PyList_CheckExact(dtypes) || number < 0 || number >= PyList_GET_SIZE(shapes)
        || PyList_GET_SIZE(dtypes) != PyList_GET_SIZE(shapes) || !shape_is(part, PyList_GET_ITEM(shapes, number))
        || (PyObject *)PyArray_DESCR(ARRAY(part)) != PyList_GET_ITEM(dtypes, number)) {
        PyErr_Clear();
        return 0;
    }
    if (entry->buffer == NULL) {
        entry->buffer = PyList_New(PyList_GET_SIZE(shapes));
        for (Py_ssize_t index = 0; entry->buffer != NULL && index < PyList_GET_SIZE(shapes); index++) {
            PyList_SET_ITEM(entry->buffer, index, Py_NewRef(Py_None));
        }
        if (entry->buffer == NULL) {
            return -1;
        }
    }
    if (!PyList_CheckExact(entry->buffer) || PyList_GET_SIZE(entry->buffer) <= number
        || PyList_GET_ITEM(entry->buffer, number) != Py_None) {
        return 0;
    }
    PyList_SetItem(entry->buffer, number, Py_NewRef(part));
    return 1;
}

/* Puts off adding an array to what waits, if one of the two is itself only promised: 1, 0 or -1. */
static int
put_off_sum(Walk *walk, Entry *entry, PyObject *part)
{
    if (walk->chain.steps == NULL
        || !(chain_promised(&walk->chain, entry->buffer) || chain_promised(&walk->chain, part))) {
        return 0;
    }
    PyObject *sum = chain_sum(&walk->chain, entry->buffer, part);
    if (sum == NULL) {
        return PyErr_Occurred() || chain_settle(&walk->chain) < 0 ? -1 : 0;
    }
    Py_SETREF(entry->buffer, sum);
    entry->owned = 0;
    return 1;
}

/* Adds an array to what waits, summed over what broadcasting added. Takes over the reference. */
static int
deliver_array(Walk *walk, int consumer, Py_ssize_t position, int target, PyObject *part)
{
    Entry *entry = &walk->entries[target];
    PyObject *shape = SLOT(entry->node, in_node.shape);
    if (PyArray_CheckExact(part) && PyList_CheckExact(shape)) {
        const int done = chain_settle(&walk->chain) < 0 ? -1 : deliver_to_output(walk, consumer, position, target, part);
        if (done != 0) {
            Py_DECREF(part);
            return done < 0 ? -1 : 0;
        }
    }
    if (!PyArray_CheckExact(part) || !PyTuple_CheckExact(shape)
        || (entry->buffer != NULL && !PyArray_CheckExact(entry->buffer))) {
        const int done = gather_in_python(walk, consumer, position, target, part);
        Py_DECREF(part);
        return done;
    }
    int is_new = 0; /* made here: nobody else has it */
    if (!shape_is(part, shape)) {
        PyObject *arguments[2] = {part, shape};
        PyObject *total = chain_settle(&walk->chain) < 0 ? NULL : PyObject_Vectorcall(sum_to, arguments, 2, NULL);
        if (total == NULL) {
            Py_DECREF(part);
            return -1;
        }
        if (total == Py_None) { /* not a case for the compiled function, or a mistake */
            Py_DECREF(total);
            const int done = gather_in_python(walk, consumer, position, target, part);
            Py_DECREF(part);
            return done;
        }
        Py_SETREF(part, total);
        is_new = 1;
    }
    if (entry->buffer == NULL) {
        entry->buffer = part;
        entry->owned = (char)is_new;
        return 0;
    }
    PyObject *held = entry->buffer;
    const int put_off = put_off_sum(walk, entry, part);
    if (put_off != 0) {
        Py_DECREF(part);
        return put_off < 0 ? -1 : 0;
    }
    const int is_alone = entry->owned || (Py_REFCNT(held) == 1 && PyArray_BASE(ARRAY(held)) == NULL);
    if (is_alone && add_alike(held, part)) {
        entry->owned = 1;
        Py_DECREF(part);
        return 0;
    }
    PyObject *arguments[3] = {held, part, held};
    const int in_place = is_alone && PyArray_DESCR(ARRAY(held)) == PyArray_DESCR(ARRAY(part)) && PyArray_ISWRITEABLE(ARRAY(held));
    entry->buffer = NULL; /* other threads may run in the call */
    PyObject *sum = PyObject_Vectorcall(add, arguments, in_place ? 3 : 2, NULL);
    Py_DECREF(held);
    Py_DECREF(part);
    if (sum == NULL) {
        return -1;
    }
    walk->entries[target].buffer = sum;
    walk->entries[target].owned = 1;
    return 0;
}

/* Deals out what a node computed; counts the edges. `next` gets a target that has become ready, or NONE. */
static int
pass_on(Walk *walk, int current, PyObject *edges, Results *results, int *next)
{
    PyObject *node = walk->entries[current].node;
    const Py_ssize_t count = PyTuple_GET_SIZE(edges);
    for (Py_ssize_t position = 0; position < count; position++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, position);
        PyObject *part = results_take(results, position);
        unsigned place;
        const int target = edge == Py_None ? NONE : find(walk, edge, &place);
        if (target == NONE) {
            Py_XDECREF(part);
            continue;
        }
        const int is_wanted = !walk->restricted || walk->entries[target].live;
        if (part != NULL && !is_wanted) {
            Py_CLEAR(part);
        }
        if (part != NULL
            && (walk->as_tensors ? deliver_tensor(walk, current, position, target, part)
                                 : deliver_array(walk, current, position, target, part))
                   < 0) {
            return -1;
        }
        Entry *entry = &walk->entries[target];
        if (--entry->pending > 0) {
            continue;
        }
        if (!is_wanted) {
            Py_CLEAR(entry->buffer); /* not on a path to an input: never runs */
            continue;
        }
        if (SLOT(entry->node, in_node.freed) == Py_None) {
            PyObject *code = SLOT(node, in_node.code), *instruction = SLOT(node, in_node.lasti);
            slot_set(entry->node, in_node.reached_code, code == NULL ? Py_None : code);
            slot_set(entry->node, in_node.reached_lasti, instruction == NULL ? objects.zero : instruction);
        }
        if (*next == NONE) {
            *next = target;
        }
        else if (push(walk, target) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- running a node ----------------------------------------------------------------------------------------- */

/* Rules, and what users wrote, run in the grad mode of the call; a Python function may have changed it. */
static int
set_mode(Walk *walk)
{
    PyObject *arguments[2];
    arguments[0] = walk->as_tensors ? Py_True : Py_False;
    arguments[1] = walk->as_tensors ? Py_None : in_hook;
    PyObject *done = PyObject_Vectorcall(set_grad_mode, arguments, 2, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* The edges that somebody waits for. */
static Edges
wanted_edges(const Walk *walk, PyObject *edges)
{
    Edges wanted = 0;
    const Py_ssize_t count = PyTuple_GET_SIZE(edges);
    for (Py_ssize_t index = 0; index < count && index < MOST_EDGES; index++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, index);
        unsigned place;
        if (edge == Py_None) {
            continue;
        }
        if (walk->restricted) {
            const int found = find(walk, edge, &place);
            if (found == NONE || !walk->entries[found].live) {
                continue;
            }
        }
        wanted |= (Edges)1 << index;
    }
    return wanted;
}

/* The call that frees a node when it has run, or None. */
static PyObject *
freeing_of(const Walk *walk, PyObject *node)
{
    return walk->kept != NULL && PySet_Contains(walk->kept, node) == 1 ? Py_None : walk->freeing;
}

/* Runs a node with hooks. They may replace the gradient; it goes into the only reference to a list, which is
   emptied at once, so that what they have replaced does not live on while the node runs. */
static PyObject *
run_with_hooks(Walk *walk, PyObject *node, PyObject **gradient, PyObject *need)
{
    PyObject *held = PyList_New(1);
    if (held == NULL) {
        return NULL;
    }
    PyList_SET_ITEM(held, 0, *gradient);
    *gradient = NULL;
    PyObject *arguments[5] = {node, held, walk->call, need, walk->as_tensors ? Py_False : Py_True};
    PyObject *given = PyObject_Vectorcall(run_hooked, arguments, 4, raw_keyword);
    Py_DECREF(held);
    return given;
}

/* Any node, by the Python functions; a node with hooks takes over the gradient. */
static int
run_in_python(Walk *walk, PyObject *node, PyObject **gradient, Results *results)
{
    PyObject *need = chain_settle(&walk->chain) < 0 ? NULL : live_nodes(walk), *given;
    if (need == NULL || ((walk->restricted || walk->as_tensors) && set_mode(walk) < 0)) {
        return -1;
    }
    walk->mode_is_set = 0;
    if (SLOT(node, in_node.extra) != Py_None) {
        given = run_with_hooks(walk, node, gradient, need);
    }
    else if (walk->as_tensors) {
        PyObject *arguments[5] = {node, *gradient, walk->call, need, Py_True};
        given = PyObject_Vectorcall(run_general, arguments, 5, NULL);
    }
    else {
        PyObject *arguments[4] = {node, *gradient, need, freeing_of(walk, node)};
        given = PyObject_Vectorcall(SLOT(node, in_node.run), arguments, 4, NULL);
    }
    if (given == NULL) {
        return -1;
    }
    results->holder = PySequence_Fast(given, "a node gave no sequence of gradients");
    Py_DECREF(given);
    if (results->holder == NULL) {
        return -1;
    }
    results->count = PySequence_Fast_GET_SIZE(results->holder);
    return 0;
}

/* Runs a node with the gradient that arrived; takes over that reference. */
static int
run_entry(Walk *walk, int current, PyObject *edges, PyObject *gradient, Results *results)
{
    PyObject *node = walk->entries[current].node, *run = SLOT(node, in_node.run);
    results->count = 0;
    results->holder = NULL;
    results->spare = PyArray_CheckExact(gradient) && PyArray_BASE(ARRAY(gradient)) == NULL && PyArray_ISWRITEABLE(ARRAY(gradient));
    int done = 0;
    if (SLOT(node, in_node.extra) == Py_None) {
        if (Py_TYPE(run) == &RunType) {
            if (walk->as_tensors && !walk->mode_is_set) {
                if (set_mode(walk) < 0) {
                    Py_DECREF(gradient);
                    return -1;
                }
                walk->mode_is_set = 1;
            }
            results->chain = walk->as_tensors ? NULL : &walk->chain;
            PyObject *freeing = freeing_of(walk, node);
            done = run_node(run, node, gradient, wanted_edges(walk, edges), freeing, walk->as_tensors, results);
        }
        else if (run == accumulate_run && !walk->as_tensors) {
            done = chain_settle(&walk->chain) < 0 ? -1 : accumulate(node, &gradient);
        }
    }
    if (done == 0) {
        done = run_in_python(walk, node, &gradient, results);
    }
    Py_XDECREF(gradient);
    return done < 0 ? -1 : 0;
}

/* What `grad()` was asked for, where it arrives. */
static int
capture(Walk *walk, int current, PyObject *gradient)
{
    const int several = PyList_Check(SLOT(walk->entries[current].node, in_node.shape));
    for (int index = walk->entries[current].first_capture; index != NONE; index = walk->captures[index].next) {
        PyObject *found = gradient;
        if (several) {
            if (!PyList_Check(gradient) || walk->captures[index].number >= PyList_GET_SIZE(gradient)) {
                PyErr_SetString(PyExc_SystemError, "a node with several outputs got one gradient");
                return -1;
            }
            found = PyList_GET_ITEM(gradient, walk->captures[index].number);
        }
        if (PyList_SetItem(walk->captured, walk->captures[index].input, Py_NewRef(found)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The gradient that has arrived at a node, in its type; None, or a list of them, where there is none. */
static PyObject *
arrived(Walk *walk, int current)
{
    Entry *entry = &walk->entries[current];
    PyObject *gradient = entry->buffer, *shape = SLOT(entry->node, in_node.shape);
    entry->buffer = NULL;
    if (gradient == NULL) {
        if (!PyList_Check(shape)) {
            return Py_NewRef(Py_None);
        }
        gradient = PyList_New(PyList_GET_SIZE(shape));
        for (Py_ssize_t index = 0; gradient != NULL && index < PyList_GET_SIZE(shape); index++) {
            PyList_SET_ITEM(gradient, index, Py_NewRef(Py_None));
        }
        return gradient;
    }
    if (PyList_Check(shape)) {
        return gradient;
    }
    PyObject *dtype = SLOT(entry->node, in_node.dtype);
    PyObject *array = walk->as_tensors && is_tensor(gradient) ? SLOT(gradient, in_tensor.array) : gradient;
    if (PyArray_CheckExact(array) && (PyObject *)PyArray_DESCR(ARRAY(array)) == dtype) {
        return gradient;
    }
    PyObject *arguments[3] = {gradient, dtype, walk->as_tensors ? Py_True : Py_False};
    PyObject *fitted = chain_settle(&walk->chain) < 0 ? NULL : PyObject_Vectorcall(as_dtype, arguments, 3, NULL);
    Py_DECREF(gradient);
    return fitted;
}

/* Signals, other threads and exceptions from them get their turn. */
#define NODES_PER_BREATH 64

static int
let_others_run(Walk *walk)
{
    if (++walk->nodes_begun % NODES_PER_BREATH == 0) {
        PyObject *done = PyObject_CallNoArgs(breathe);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    return PyErr_CheckSignals();
}

static int
walk_from(Walk *walk, int current, PyObject *gradient)
{
    for (;;) {
        PyObject *node = walk->entries[current].node;
        const int runs
            = !walk->restricted || walk->entries[current].needed || Py_TYPE(node) == (PyTypeObject *)graph_root;
        int next = NONE;
        Results results = {0};
        if (walk->restricted || walk->as_tensors) {
            slot_set(walk->call, in_call.node, node);
        }
        if (!runs && (SLOT(node, in_node.extra) != Py_None || SLOT(node, in_node.run) == accumulate_run)) {
            /* captured only: after the tensor hooks, since the node itself will not run them */
            PyObject *arguments[3] = {node, gradient, walk->as_tensors ? Py_True : Py_False};
            if (chain_settle(&walk->chain) < 0 || live_nodes(walk) == NULL || set_mode(walk) < 0) { /* a hook may ask what the call comes to */
                Py_DECREF(gradient);
                return -1;
            }
            walk->mode_is_set = 0;
            PyObject *hooked = PyObject_Vectorcall(hook_gradient, arguments, 3, NULL);
            Py_DECREF(gradient);
            gradient = hooked;
            if (gradient == NULL) {
                return -1;
            }
        }
        if (walk->entries[current].first_capture != NONE
            && (chain_settle(&walk->chain) < 0 || capture(walk, current, gradient) < 0)) {
            Py_DECREF(gradient);
            return -1;
        }
        PyObject *edges = Py_NewRef(SLOT(node, in_node.edges));
        int failed = 0;
        if (runs) {
            failed = let_others_run(walk);
            if (failed == 0) {
                failed = run_entry(walk, current, edges, gradient, &results);
            }
            else {
                Py_DECREF(gradient);
            }
        }
        else {
            Py_DECREF(gradient);
        }
        if (failed == 0) {
            failed = pass_on(walk, current, edges, &results, &next);
        }
        results_clear(&results);
        Py_DECREF(edges);
        if (failed < 0) {
            return -1;
        }
        if (next == NONE) {
            if (walk->heap_count == 0) {
                return 0;
            }
            next = pop(walk);
        }
        else if (walk->heap_count > 0 && walk->heap[0].sequence > walk->entries[next].sequence) {
            if (push(walk, next) < 0) {
                return -1;
            }
            next = pop(walk);
        }
        current = next;
        gradient = arrived(walk, current);
        if (gradient == NULL) {
            return -1;
        }
    }
}

/* ---- one walk ----------------------------------------------------------------------------------------------- */

static PyObject *
finished(Walk *walk)
{
    PyObject *captured = walk->captured;
    walk->captured = NULL;
    for (Py_ssize_t index = 0; !walk->as_tensors && index < PyList_GET_SIZE(captured); index++) {
        PyObject *part = PyList_GET_ITEM(captured, index);
        if (part == Py_None) {
            continue;
        }
        PyObject *tensor = PyArray_CheckExact(part) ? new_tensor(part) : PyObject_CallOneArg(as_captured, part);
        if (tensor == NULL || PyList_SetItem(captured, index, tensor) < 0) {
            Py_DECREF(captured);
            return NULL;
        }
    }
    return captured;
}

/* Whether the inputs are a list of pairs (node, number) and None. */
static int
are_inputs(PyObject *inputs)
{
    if (!PyList_CheckExact(inputs) || PyList_GET_SIZE(inputs) > INT_MAX) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(inputs); index++) {
        PyObject *pair = PyList_GET_ITEM(inputs, index);
        if (pair != Py_None
            && (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2 || !PyLong_Check(PyTuple_GET_ITEM(pair, 1)))) {
            return 0;
        }
    }
    return 1;
}

PyObject *
walk_graph(PyObject *root, PyObject *gradient, PyObject *call, PyObject *inputs, int as_tensors)
{
    if (inputs != Py_None && !are_inputs(inputs)) {
        Py_DECREF(gradient);
        Py_RETURN_NOTIMPLEMENTED;
    }
    Walk walk = {.call = call, .as_tensors = as_tensors, .restricted = inputs != Py_None};
    walk.freeing = SLOT(call, in_call.retain_graph) == Py_False ? call : Py_None;
    walk.kept = PyAnySet_Check(SLOT(call, in_call.kept)) ? SLOT(call, in_call.kept) : NULL;
    PyObject *result = NULL;
    int first = walk_open(&walk);
    if (first == 0) {
        first = count_edges(&walk, root);
    }
    if (first == -2) {
        walk_close(&walk);
        Py_DECREF(gradient);
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (first >= 0) {
        walk.captured = PyList_New(0);
        for (Py_ssize_t index = 0; walk.captured != NULL && walk.restricted && index < PyList_GET_SIZE(inputs); index++) {
            if (PyList_Append(walk.captured, Py_None) < 0) {
                Py_CLEAR(walk.captured);
            }
        }
        const int running = PyUnicode_Check(SLOT(call, in_call.kind))
                            && PyUnicode_CompareWithASCIIString(SLOT(call, in_call.kind), "backward") == 0;
        if (walk.captured == NULL || (walk.restricted && take_inputs(&walk, inputs, first, running) < 0)) {
            first = -1;
        }
    }
    if (first < 0) {
        Py_DECREF(gradient);
    }
    else if (walk_from(&walk, first, gradient) == 0) {
        result = finished(&walk);
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    /* as Python counts: all there are, or those that ran where not all have to */
    PyObject *run = PyLong_FromLong(walk.restricted || walk.as_tensors ? walk.nodes_begun : walk.count);
    if (run != NULL) {
        slot_set(call, in_call.nodes_run, run);
        Py_DECREF(run);
    }
    PyErr_Restore(type, value, traceback);
    walk_close(&walk);
    return result;
}

/* ---- part --------------------------------------------------------------------------------------------------- */

static const Wanted walk_wanted[] = {
    {"GraphRoot", &graph_root},
    {"run_hooked", &run_hooked},
    {"run_general", &run_general},
    {"hook_gradient", &hook_gradient},
    {"gathered", &gathered},
    {"as_dtype", &as_dtype},
    {"as_captured", &as_captured},
    {"set_grad_mode", &set_grad_mode},
    {"IN_HOOK", &in_hook},
    {"sum_to", &sum_to},
    {"sum_to_size", &sum_to_size},
    {"add", &add},
    {"breathe", &breathe},
    {NULL, NULL},
};

static int
walk_start(void)
{
    Py_XSETREF(raw_keyword, Py_BuildValue("(s)", "raw"));
    return raw_keyword == NULL ? -1 : 0;
}

const Part walk_part = {.wanted = walk_wanted, .start = walk_start};
