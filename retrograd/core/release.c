/* Tensors, nodes and views as the memory sees them: how the garbage collector looks at them, and how they end.
 *
 * A graph is a chain of nodes, each of which keeps the next alive: releasing the first releases all, one inside the
 * other, as deep as the chain is long. Python has a guard against that, but the one of 3.13 counts levels as if every
 * thread had the main thread's stack. Here a few levels go down the stack, and what is below waits in a list until
 * those above are done. Tensors that hold tensors, as attributes or gradients, and the view ops that lead to a view are
 * such chains too.
 *
 * The collector looks at every object that it knows, again and again. The tuples of a node's edges and saved values
 * are the node's alone, so it need not know them: the node shows it what is in them. A tuple that somebody else holds
 * as well is not looked into, since the node does not decide on its end; then what it holds simply stays.
 */
#include "core.h"

#include <structmember.h>

#define DEEPEST 20
#define MOST_SLOTS 64

#ifdef _MSC_VER
#define PER_THREAD __declspec(thread)
#else
#define PER_THREAD _Thread_local
#endif

static PER_THREAD int depth;
static PER_THREAD PyObject *waiting; /* nodes and tensors without an owner, each with the next one in a slot of its own */

/* The places of all values of a class, whether or not the core reads them. */
typedef struct {
    Py_ssize_t offsets[MOST_SLOTS];
    int count;
} Places;

static Places node_places, view_places, cell_places, tensor_places;

/* ---- the collector ------------------------------------------------------------------------------------------ */

PyObject *
own_tuple(Py_ssize_t size)
{
    PyObject *made = PyTuple_New(size);
    if (made != NULL && size > 0) { /* there is one empty tuple, and it is Python's */
        PyObject_GC_UnTrack(made);
    }
    return made;
}

/* Shows the collector a tuple, or what is in it. */
static int
traverse_tuple(PyObject *tuple, visitproc visit, void *arg)
{
    if (tuple == NULL || !PyTuple_CheckExact(tuple) || PyObject_GC_IsTracked(tuple)) {
        Py_VISIT(tuple);
        return 0;
    }
    if (Py_REFCNT(tuple) == 1) {
        for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(tuple); index++) {
            Py_VISIT(PyTuple_GET_ITEM(tuple, index));
        }
    }
    return 0;
}

/* Takes the place of `tp_traverse` in the class Node. Numbers, dtypes, shapes and code are part of no cycle. */
static int
traverse_node(PyObject *node, visitproc visit, void *arg)
{
    if (Py_TYPE(node) != objects.Node) {
        Py_VISIT(Py_TYPE(node));
    }
    Py_VISIT(SLOT(node, in_node.run));
    Py_VISIT(SLOT(node, in_node.extra));
    Py_VISIT(SLOT(node, in_node.freed));
    Py_VISIT(SLOT(node, in_node.buffer));
    const int stopped = traverse_tuple(SLOT(node, in_node.edges), visit, arg);
    return stopped != 0 ? stopped : traverse_tuple(SLOT(node, in_node.saved), visit, arg);
}

/* ---- the end ------------------------------------------------------------------------------------------------ */

/* What Python's own function does for an instance of a class with slots. */
static void
dismantle(PyObject *object, const Places *places)
{
    PyTypeObject *type = Py_TYPE(object);
    if (type->tp_weaklistoffset != 0 && SLOT(object, type->tp_weaklistoffset) != NULL) {
        PyObject_ClearWeakRefs(object);
    }
    for (int index = 0; index < places->count; index++) {
        Py_CLEAR(SLOT(object, places->offsets[index]));
    }
    free_object(object);
    Py_DECREF(type);
}

/* Lets an object's attributes go. */
static void
clear_attributes(PyObject *object)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject_ClearManagedDict(object);
#else
    PyObject **place = _PyObject_GetDictPtr(object);
    if (place != NULL) {
        Py_CLEAR(*place);
    }
#endif
}

static int
is_node(PyObject *object)
{
    return PyObject_TypeCheck(object, objects.Node);
}

/* Where a waiting object keeps the one that waits behind it. */
static PyObject **
behind(PyObject *object)
{
    return &SLOT(object, is_node(object) ? in_node.sequence : in_tensor.output_nr);
}

static void
end(PyObject *object)
{
    if (is_node(object)) {
        dismantle(object, &node_places);
        return;
    }
    if (SLOT(object, Py_TYPE(object)->tp_weaklistoffset) != NULL) {
        PyObject_ClearWeakRefs(object);
    }
    if (!is_blank(object)) {
        clear_attributes(object);
    }
    dismantle(object, &tensor_places);
}

/* Ends an object that the collector no longer knows: now, or when those above it on the stack are done. */
static void
release(PyObject *object)
{
    if (depth >= DEEPEST) {
        PyObject **next = behind(object);
        Py_CLEAR(*next);
        *next = waiting;
        waiting = object;
        return;
    }
    depth++;
    end(object);
    while (depth == 1 && waiting != NULL) {
        PyObject *first = waiting;
        waiting = *behind(first);
        *behind(first) = NULL;
        end(first);
    }
    depth--;
}

/* Takes the place of `tp_dealloc` in the class Node; that of a subclass calls it when it has done its own part. */
static void
release_node(PyObject *node)
{
    PyObject_GC_UnTrack(node);
    release(node);
}

/* Lets a chain of links (op, options, number, the link before) go, as far as nobody else holds it. */
static void
release_links(PyObject *link)
{
    while (link != NULL && PyTuple_CheckExact(link) && PyTuple_GET_SIZE(link) == 4 && Py_REFCNT(link) == 1) {
        PyObject *before = PyTuple_GET_ITEM(link, 3);
        PyTuple_SET_ITEM(link, 3, Py_NewRef(Py_None));
        Py_DECREF(link);
        link = before;
    }
    Py_XDECREF(link);
}

/* Takes the place of `tp_dealloc` in the class ViewInfo. */
static void
release_view(PyObject *info)
{
    PyObject_GC_UnTrack(info);
    PyObject *link = SLOT(info, in_view.last);
    SLOT(info, in_view.last) = NULL;
    release_links(link);
    dismantle(info, &view_places);
}

static void
release_cell(PyObject *cell)
{
    PyObject_GC_UnTrack(cell);
    dismantle(cell, &cell_places);
}

/* Takes the place of `tp_dealloc` in the class Tensor; that of a subclass calls it when it has done its own part. */
static void
release_tensor(PyObject *tensor)
{
    PyTypeObject *type = Py_TYPE(tensor);
    if (type == objects.Tensor && type->tp_finalize != NULL && PyObject_CallFinalizerFromDealloc(tensor) < 0) {
        return; /* somebody has it again */
    }
    PyObject_GC_UnTrack(tensor);
    release(tensor);
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

static int
find_places(PyTypeObject *type, Places *places)
{
    Py_ssize_t at = 0;
    PyObject *name, *member;
    if (type->tp_base != &PyBaseObject_Type || !PyType_IS_GC(type)
        || (type->tp_dictoffset != 0 && !(type->tp_flags & Py_TPFLAGS_MANAGED_DICT))) {
        PyErr_Format(PyExc_TypeError, "the class %s is not what the core can release", type->tp_name);
        return -1;
    }
    places->count = 0;
    while (PyDict_Next(type->tp_dict, &at, &name, &member)) {
        if (Py_TYPE(member) != &PyMemberDescr_Type) {
            continue;
        }
        const struct PyMemberDef *found = ((PyMemberDescrObject *)member)->d_member;
        if (found->type != T_OBJECT_EX || places->count == MOST_SLOTS) {
            PyErr_Format(PyExc_TypeError, "the class %s has other members than the core can release", type->tp_name);
            return -1;
        }
        places->offsets[places->count++] = found->offset;
    }
    return 0;
}

static int
start(void)
{
    if (find_places(objects.Node, &node_places) < 0 || find_places(objects.ViewInfo, &view_places) < 0
        || find_places(objects.VersionCell, &cell_places) < 0 || find_places(objects.Tensor, &tensor_places) < 0) {
        return -1;
    }
    objects.Node->tp_dealloc = release_node;
    objects.Node->tp_traverse = traverse_node;
    objects.ViewInfo->tp_dealloc = release_view;
    objects.VersionCell->tp_dealloc = release_cell;
    objects.Tensor->tp_dealloc = release_tensor;
    return 0;
}

const Part release_part = {.start = start};
