/* Which leaves a value was computed from, noted where its history is cut, and the cuts behind a node's operands:
 * `engine.lineage`. */
#include "caller.h"
#include "engine.h"

enum { MOST_NODES = 128, MOST_LEAVES = 128, MOST_CUTS = 8 };
enum { PLACES = 256 }; /* a power of two, two for each node */

typedef struct {
    PyObject *waiting[MOST_NODES + 1], *leaves[MOST_LEAVES + 1], *seen[PLACES];
    int waiting_count, leaf_count, seen_count;
} Walk;

static PyObject *last_leaves; /* the tuple that was made last: most cuts of a program have the same leaves */

/* Whether a node is met for the first time. */
static int
is_new(Walk *walk, PyObject *node)
{
    if (walk->seen_count == 0) {
        memset(walk->seen, 0, sizeof walk->seen);
    }
    size_t place = ((size_t)node >> 4) * 0x9E3779B97F4A7C15u >> 56;
    while (walk->seen[place] != NULL) {
        if (walk->seen[place] == node) {
            return 0;
        }
        place = (place + 1) & (PLACES - 1);
    }
    walk->seen[place] = node;
    walk->seen_count++;
    return 1;
}

/* What a weak reference refers to, borrowed: nothing runs here that could let it go; NULL if it is gone. */
static PyObject *
held_by(PyObject *reference)
{
    PyObject *found = NULL;
    if (!PyWeakref_CheckRefExact(reference)) {
        return NULL;
    }
#if PY_VERSION_HEX >= 0x030D0000
    if (PyWeakref_GetRef(reference, &found) < 0) {
        PyErr_Clear();
    }
    if (found != NULL && Py_REFCNT(found) > 1) {
        Py_DECREF(found);
    }
#else
    found = PyWeakref_GET_OBJECT(reference);
    found = found == Py_None ? NULL : found;
#endif
    return found;
}

/* 0 where there is too much. */
static int
add_leaf(Walk *walk, PyObject *leaf)
{
    for (int index = 0; index < walk->leaf_count; index++) {
        if (walk->leaves[index] == leaf) {
            return 1;
        }
    }
    walk->leaves[walk->leaf_count++] = leaf;
    return walk->leaf_count <= MOST_LEAVES;
}

/* The leaves behind an earlier cut: the way to them ends at the cut that is made now, too. */
static int
add_cut_leaves(Walk *walk, PyObject *cut)
{
    PyObject *leaves = Py_TYPE(cut) == objects.Cut ? SLOT(cut, in_cut.leaves) : NULL;
    if (leaves == NULL || !PyTuple_CheckExact(leaves)) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(leaves); index++) {
        PyObject *leaf = held_by(PyTuple_GET_ITEM(leaves, index));
        if (leaf != NULL && !add_leaf(walk, leaf)) {
            return 0;
        }
    }
    return 1;
}

static int
add_cuts(Walk *walk, PyObject *cuts)
{
    for (Py_ssize_t index = 0; cuts != NULL && index < PyTuple_GET_SIZE(cuts); index++) {
        if (!add_cut_leaves(walk, PyTuple_GET_ITEM(cuts, index))) {
            return 0;
        }
    }
    return 1;
}

static int
add_node(Walk *walk, PyObject *node)
{
    if (!PyObject_TypeCheck(node, objects.Node)) {
        return 0;
    }
    if (!is_new(walk, node)) {
        return 1;
    }
    if (walk->seen_count > MOST_NODES) {
        return 0;
    }
    walk->waiting[walk->waiting_count++] = node;
    return 1;
}

static int
add_root(Walk *walk, PyObject *root)
{
    if (!is_tensor(root)) {
        return add_node(walk, root);
    }
    if (SLOT(root, in_tensor.requires_grad) != Py_True) {
        return !slot_given(root, in_tensor.cut) || add_cut_leaves(walk, SLOT(root, in_tensor.cut));
    }
    PyObject *node = SLOT(root, in_tensor.grad_fn);
    if (node != NULL && node != Py_None) {
        return add_node(walk, node);
    }
    return SLOT(root, in_tensor.view) == Py_None && add_leaf(walk, root);
}

/* Finds the leaves; runs no code of others, so that references may be borrowed. */
static int
walk_back(Walk *walk)
{
    while (walk->waiting_count > 0) {
        PyObject *node = walk->waiting[--walk->waiting_count];
        if (SLOT(node, in_node.run) == accumulate_run) {
            PyObject *saved = SLOT(node, in_node.saved);
            if (saved == NULL || !PyTuple_CheckExact(saved) || PyTuple_GET_SIZE(saved) != 1
                || !is_tensor(PyTuple_GET_ITEM(saved, 0)) || !add_leaf(walk, PyTuple_GET_ITEM(saved, 0))) {
                return 0;
            }
            continue;
        }
        PyObject *edges = SLOT(node, in_node.edges);
        if (edges == NULL || !PyTuple_CheckExact(edges) || !add_cuts(walk, SLOT(node, in_node.cuts))) {
            return 0;
        }
        for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(edges); index++) {
            PyObject *edge = PyTuple_GET_ITEM(edges, index);
            if (edge != Py_None && !add_node(walk, edge)) {
                return 0;
            }
        }
    }
    return 1;
}

static int
is_same(PyObject *one, PyObject *other)
{
    if (other == NULL || PyTuple_GET_SIZE(one) != PyTuple_GET_SIZE(other)) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(one); index++) {
        if (PyTuple_GET_ITEM(one, index) != PyTuple_GET_ITEM(other, index)) {
            return 0;
        }
    }
    return 1;
}

static PyObject *
weak_references(PyObject *const *leaves, int count)
{
    PyObject *made = PyTuple_New(count);
    for (int index = 0; made != NULL && index < count; index++) {
        PyObject *reference = PyWeakref_NewRef(leaves[index], NULL);
        if (reference == NULL) {
            Py_CLEAR(made);
            break;
        }
        PyTuple_SET_ITEM(made, index, reference);
    }
    if (made != NULL && is_same(made, last_leaves)) {
        Py_DECREF(made);
        return Py_NewRef(last_leaves);
    }
    if (made != NULL) {
        Py_XSETREF(last_leaves, Py_NewRef(made));
    }
    return made;
}

int
note_leaves(PyObject *cut, PyObject *const *roots, Py_ssize_t count)
{
    Walk walk;
    walk.waiting_count = walk.leaf_count = walk.seen_count = 0;
    int known = 1;
    for (Py_ssize_t index = 0; known && index < count; index++) {
        known = roots[index] == NULL || add_root(&walk, roots[index]);
    }
    PyObject *found = Py_None;
    if (known && walk_back(&walk)) {
        for (int index = 0; index < walk.leaf_count; index++) {
            Py_INCREF(walk.leaves[index]); /* making references may run anything */
        }
        found = weak_references(walk.leaves, walk.leaf_count);
        for (int index = 0; index < walk.leaf_count; index++) {
            Py_DECREF(walk.leaves[index]);
        }
        if (found == NULL) {
            return -1;
        }
        slot_set(cut, in_cut.leaves, found);
        Py_DECREF(found);
        return 0;
    }
    slot_set(cut, in_cut.leaves, Py_None);
    return 0;
}

int
add_cut(PyObject *node, PyObject *cut)
{
    PyObject *before = SLOT(node, in_node.cuts);
    const Py_ssize_t count = before == NULL ? 0 : PyTuple_GET_SIZE(before);
    for (Py_ssize_t index = 0; index < count; index++) {
        if (PyTuple_GET_ITEM(before, index) == cut || index + 1 == MOST_CUTS) {
            return 0;
        }
    }
    PyObject *made = PyTuple_New(count + 1);
    if (made == NULL) {
        return -1;
    }
    for (Py_ssize_t index = 0; index < count; index++) {
        PyTuple_SET_ITEM(made, index, Py_NewRef(PyTuple_GET_ITEM(before, index)));
    }
    PyTuple_SET_ITEM(made, count, Py_NewRef(cut));
    slot_set(node, in_node.cuts, made);
    Py_DECREF(made);
    return 0;
}
