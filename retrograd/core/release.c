/* The end of a node. A graph is a chain of nodes, each of which keeps the next alive: releasing the first releases
 * all, one inside the other, as deep as the chain is long.
 *
 * Python has a guard against that, but the one of 3.13 counts levels as if every thread had the main thread's stack.
 * Here a few levels go down the stack, and the nodes below wait in a list until those above are done.
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
static PER_THREAD PyObject *waiting; /* nodes without an owner, each with the next one in its slot `sequence` */

static Py_ssize_t slots[MOST_SLOTS]; /* the places of all of a node's values */
static int slot_count;

/* What Python's own function does for an instance of a class with slots. */
static void
dismantle(PyObject *node)
{
    PyTypeObject *type = Py_TYPE(node);
    if (type->tp_weaklistoffset != 0 && SLOT(node, type->tp_weaklistoffset) != NULL) {
        PyObject_ClearWeakRefs(node);
    }
    for (int index = 0; index < slot_count; index++) {
        Py_CLEAR(SLOT(node, slots[index]));
    }
    type->tp_free(node);
    Py_DECREF(type);
}

/* Takes the place of `tp_dealloc` in the class Node; that of a subclass calls it when it has done its own part. */
static void
release_node(PyObject *node)
{
    PyObject_GC_UnTrack(node);
    if (depth >= DEEPEST) {
        Py_CLEAR(SLOT(node, in_node.sequence));
        SLOT(node, in_node.sequence) = waiting;
        waiting = node;
        return;
    }
    depth++;
    dismantle(node);
    while (depth == 1 && waiting != NULL) {
        PyObject *next = waiting;
        waiting = SLOT(next, in_node.sequence);
        SLOT(next, in_node.sequence) = NULL;
        dismantle(next);
    }
    depth--;
}

/* Finds all slots that the class declares, whether or not the core reads them. */
static int
find_slots(PyTypeObject *type)
{
    Py_ssize_t at = 0;
    PyObject *name, *member;
    slot_count = 0;
    while (PyDict_Next(type->tp_dict, &at, &name, &member)) {
        if (Py_TYPE(member) != &PyMemberDescr_Type) {
            continue;
        }
        const struct PyMemberDef *found = ((PyMemberDescrObject *)member)->d_member;
        if (found->type != T_OBJECT_EX || slot_count == MOST_SLOTS) {
            PyErr_SetString(PyExc_TypeError, "the class Node has other members than the core can release");
            return -1;
        }
        slots[slot_count++] = found->offset;
    }
    return 0;
}

static int
start(void)
{
    PyTypeObject *type = objects.Node;
    if (type->tp_base != &PyBaseObject_Type || type->tp_dictoffset != 0 || !PyType_IS_GC(type)) {
        PyErr_SetString(PyExc_TypeError, "the class Node is not what the core can release");
        return -1;
    }
    if (find_slots(type) < 0) {
        return -1;
    }
    type->tp_dealloc = release_node;
    return 0;
}

const Part release_part = {.start = start};
