/* Elementwise rules on large arrays, several at once.
 *
 * One rule after the other reads its arrays from memory and writes its result there: with arrays beyond the cache that
 * is all their time. So a walk puts such steps off. A rule gets a *promised* array: shape, dtype and layout are there,
 * memory is not. It can be an operand of further steps, of this rule or the next ones. When somebody needs values (any
 * code but that of rules which know about chains), all steps are done, block by block, so that what lies between them
 * stays in the first-level cache; promised arrays that somebody still has get memory, the others never do.
 *
 * Each step is the loop that would have run at once, on the same operands: results have the same bits.
 *
 * A promised array is known to the walk alone, never to Python: between putting off and doing, no Python code runs that
 * could come across it. Its address is none, so that a mistake is a crash and not a wrong number.
 */
#include "chain.h"

#define CHAIN_LEAST 32768 /* elements from which on a step is put off: fewer stay in the cache anyway */
#define MOST_STEPS 64
#define MOST_VALUES (3 * MOST_STEPS)
#define BLOCK_BYTES 4096
#define MOST_SLOTS 16
#define NO_VALUE (-1)
#define NOWHERE ((void *)64) /* aligned, never mapped */

typedef enum { GIVEN, COMPUTED, CONSTANT } Origin;

typedef struct {
    PyObject *array; /* promised, unless it was given */
    Origin origin;
    double number;   /* of a constant */
    char kept;       /* has memory: given, or somebody outside has it */
    char needed;
    int last_read;   /* the last needed step that reads it; NO_VALUE: none */
    npy_intp item;   /* bytes of an element: a mask has others */
    char *data;      /* of what is kept */
    int slot;        /* in scratch, for what is not */
} Value;

typedef struct {
    Loop loop;
    int reads[3]; /* gradient, first, second: values, or NO_VALUE */
    int result;
    double number;
} Step;

struct Steps {
    Step steps[MOST_STEPS];
    Value values[MOST_VALUES];
    int step_count, value_count, slot_count;
    npy_intp size, item; /* elements, and bytes of one */
};

typedef struct Steps Steps;

/* ---- what waits --------------------------------------------------------------------------------------------- */

static int
find_value(const Steps *steps, PyObject *array)
{
    for (int index = steps->value_count - 1; index >= 0; index--) {
        if (steps->values[index].array == array) {
            return index;
        }
    }
    return NO_VALUE;
}

int
chain_promised(const Chain *chain, PyObject *array)
{
    const int found = chain->steps == NULL ? NO_VALUE : find_value(chain->steps, array);
    return found != NO_VALUE && chain->steps->values[found].origin != GIVEN;
}

int
chain_waits(const Chain *chain)
{
    return chain->steps->value_count > 0;
}

/* Whether an array can be a value beside those that there are. */
static int
has_room(const Chain *chain, PyObject *array)
{
    if (PyArray_SIZE(ARRAY(array)) < CHAIN_LEAST) {
        return 0;
    }
    const Steps *steps = chain->steps;
    return steps == NULL || steps->value_count == 0
           || (steps->step_count < MOST_STEPS && steps->value_count + 3 < MOST_VALUES
               && are_alike(array, steps->values[0].array));
}

int
chain_takes(Chain *chain, const Operands *operands)
{
    PyObject *const arrays[3] = {operands->gradient, operands->first, operands->second};
    if (has_room(chain, operands->gradient)) {
        return 1;
    }
    for (int place = 0; place < 3; place++) {
        if (arrays[place] != NULL && chain_promised(chain, arrays[place])) {
            return chain_settle(chain) < 0 ? -1 : has_room(chain, operands->gradient);
        }
    }
    return 0;
}

/* Adds a value; takes over the reference to the array. */
static int
add_value(Steps *steps, PyObject *array, Origin origin)
{
    if (steps->value_count == 0) {
        steps->size = PyArray_SIZE(ARRAY(array));
        steps->item = PyArray_ITEMSIZE(ARRAY(array));
    }
    steps->values[steps->value_count] = (Value){.array = array, .origin = origin, .item = PyArray_ITEMSIZE(ARRAY(array))};
    return steps->value_count++;
}

static int
read_value(Steps *steps, PyObject *array)
{
    if (array == NULL) {
        return NO_VALUE;
    }
    const int found = find_value(steps, array);
    return found != NO_VALUE ? found : add_value(steps, Py_NewRef(array), GIVEN);
}

/* An array without memory. */
static PyObject *
promise(int ndim, const npy_intp *shape, PyArray_Descr *dtype, int by_columns)
{
    Py_INCREF(dtype); /* the call below takes this reference */
    npy_intp strides[NPY_MAXDIMS], stride = PyDataType_ELSIZE(dtype);
    for (int place = 0; place < ndim; place++) {
        const int axis = by_columns ? place : ndim - 1 - place;
        strides[axis] = stride;
        stride *= shape[axis];
    }
    return PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, strides, NOWHERE, 0, NULL);
}

/* The table of a walk that has ended, for the next one. New memory for each would be cut from that of the last gradient,
 * which then does not fit there any more. */
static Steps *unused;

static Steps *
open_steps(Chain *chain)
{
    if (chain->steps == NULL) {
        chain->steps = unused != NULL ? unused : PyMem_Malloc(sizeof *unused);
        unused = NULL;
        if (chain->steps == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        chain->steps->step_count = chain->steps->value_count = 0;
    }
    return chain->steps;
}

PyObject *
chain_step(Chain *chain, const Loop *loops, const Operands *operands)
{
    PyArrayObject *model = ARRAY(operands->gradient);
    PyArray_Descr *dtype = PyArray_DESCR(model);
    const int by_columns = !PyArray_IS_C_CONTIGUOUS(model);
    Steps *steps = open_steps(chain);
    PyObject *result
        = steps == NULL ? NULL : promise(PyArray_NDIM(model), PyArray_DIMS(model), dtype, by_columns);
    if (result == NULL) {
        return NULL;
    }
    Step *step = &steps->steps[steps->step_count++];
    step->loop = loops[dtype == objects.F64];
    step->number = operands->number;
    step->reads[0] = read_value(steps, operands->gradient);
    step->reads[1] = read_value(steps, operands->first);
    step->reads[2] = read_value(steps, operands->second);
    step->result = add_value(steps, Py_NewRef(result), COMPUTED);
    return result;
}

PyObject *
chain_constant(Chain *chain, int ndim, const npy_intp *shape, PyArray_Descr *dtype, double number)
{
    PyObject *made = PyArray_MultiplyList(shape, ndim) < CHAIN_LEAST ? NULL : promise(ndim, shape, dtype, 0);
    if (made == NULL || !has_room(chain, made)) {
        Py_XDECREF(made);
        return NULL;
    }
    Steps *steps = open_steps(chain);
    if (steps == NULL) {
        Py_DECREF(made);
        return NULL;
    }
    const int value = add_value(steps, Py_NewRef(made), CONSTANT);
    steps->values[value].number = number;
    return made;
}

/* left + right, in that order: it decides which of two nans comes out */
#define PLUS(type)                                                                                                   \
    FOR_EACH_PROCESSOR static void plus_##type(const void *left, const void *right, const void *Py_UNUSED(second),    \
                                               double Py_UNUSED(number), void *result, npy_intp count)                \
    {                                                                                                                \
        const npy_##type *A = left, *B = right;                                                                      \
        npy_##type *R = result;                                                                                      \
        EACH_ALONE                                                                                                   \
        for (npy_intp i = 0; i < count; i++) {                                                                       \
            R[i] = A[i] + B[i];                                                                                      \
        }                                                                                                            \
    }

PLUS(float32)
PLUS(float64)

PyObject *
chain_sum(Chain *chain, PyObject *left, PyObject *right)
{
    static const Loop loops[2] = {plus_float32, plus_float64};
    const Operands operands = {.gradient = left, .first = right};
    const int takes = are_alike(left, right) ? chain_takes(chain, &operands) : 0;
    return takes == 1 ? chain_step(chain, loops, &operands) : NULL;
}

/* ---- who needs what ----------------------------------------------------------------------------------------- */

/* Notes which values somebody has, which are needed for them, and until when. */
static void
look_at_values(Steps *steps)
{
    for (int index = 0; index < steps->value_count; index++) {
        Value *value = &steps->values[index];
        value->kept = value->origin == GIVEN || Py_REFCNT(value->array) > 1;
        value->needed = value->origin != GIVEN && value->kept;
        value->last_read = NO_VALUE;
        value->data = value->origin == GIVEN ? PyArray_DATA(ARRAY(value->array)) : NULL;
    }
    for (int number = steps->step_count - 1; number >= 0; number--) {
        const Step *step = &steps->steps[number];
        for (int place = 0; steps->values[step->result].needed && place < 3; place++) {
            if (step->reads[place] != NO_VALUE) {
                Value *value = &steps->values[step->reads[place]];
                value->needed = 1;
                value->last_read = value->last_read == NO_VALUE ? number : value->last_read;
            }
        }
    }
}

/* Whether nobody but the chain has an array, so that its memory is free after its last step. */
static int
is_spare(const Steps *steps, const Value *value)
{
    PyArrayObject *array = ARRAY(value->array);
    return value->origin == GIVEN && value->item == steps->item && Py_REFCNT(value->array) == 1 && PyArray_BASE(array) == NULL
           && PyArray_ISWRITEABLE(array) && PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA);
}

/* Gives a promised array the memory of another one, which has none then. Both are alike. */
static void
move_memory(PyObject *from, PyObject *to)
{
    PyArrayObject_fields *source = (PyArrayObject_fields *)from, *target = (PyArrayObject_fields *)to;
    const int moved = NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE;
    target->data = source->data;
    target->flags |= moved;
    target->mem_handler = source->mem_handler;
    source->data = NOWHERE;
    source->flags &= ~moved;
    source->mem_handler = NULL;
}

/* Gives a promised array memory: that of a given one which is spare from that step on, or new memory. */
static int
give_memory(Steps *steps, Value *value, int from_step)
{
    for (int index = 0; index < steps->value_count; index++) {
        Value *other = &steps->values[index];
        if (is_spare(steps, other) && other->last_read <= from_step) {
            value->data = other->data;
            move_memory(other->array, value->array);
            return 0;
        }
    }
    PyObject *array = new_array_like(value->array);
    if (array == NULL) {
        return -1;
    }
    value->data = PyArray_DATA(ARRAY(array));
    move_memory(array, value->array);
    Py_DECREF(array);
    return 0;
}

/* Finds a place for every value: memory for those that are kept, a slot of scratch for the others. */
static int
find_places(Steps *steps)
{
    int busy_until[MOST_SLOTS]; /* the last step that reads a slot */
    steps->slot_count = 0;
    for (int index = 0; index < steps->value_count; index++) {
        Value *value = &steps->values[index];
        if (value->origin != CONSTANT || !value->needed) {
            continue;
        }
        value->kept |= steps->slot_count == MOST_SLOTS / 2;
        if (value->kept && give_memory(steps, value, NO_VALUE) < 0) {
            return -1;
        }
        if (!value->kept) { /* there from the start, to the end */
            busy_until[value->slot = steps->slot_count++] = MOST_STEPS;
        }
    }
    for (int number = 0; number < steps->step_count; number++) {
        Value *value = &steps->values[steps->steps[number].result];
        if (!value->needed) {
            continue;
        }
        int slot = 0;
        while (!value->kept && slot < steps->slot_count && busy_until[slot] > number) {
            slot++;
        }
        if (value->kept || slot == MOST_SLOTS) {
            value->kept = 1;
            if (give_memory(steps, value, number) < 0) {
                return -1;
            }
            continue;
        }
        steps->slot_count = slot == steps->slot_count ? slot + 1 : steps->slot_count;
        busy_until[value->slot = slot] = value->last_read;
    }
    return 0;
}

/* ---- doing it ----------------------------------------------------------------------------------------------- */

static void
fill(void *memory, npy_intp count, npy_intp item, double number)
{
    npy_float32 *singles = memory;
    npy_float64 *doubles = memory;
    for (npy_intp index = 0; index < count; index++) {
        if (item == sizeof *singles) {
            singles[index] = (npy_float32)number;
        }
        else {
            doubles[index] = number;
        }
    }
}

static inline char *
place_of(const Value *value, char *scratch, npy_intp start)
{
    return value->kept ? value->data + start * value->item : scratch + (size_t)value->slot * BLOCK_BYTES;
}

static void
do_blocks(void *context, npy_intp start, npy_intp stop)
{
    const Steps *steps = context;
    double memory[(MOST_SLOTS * BLOCK_BYTES + 64) / sizeof(double)];
    char *scratch = (char *)(((size_t)memory + 63) & ~(size_t)63);
    const npy_intp block = BLOCK_BYTES / steps->item;
    for (int index = 0; index < steps->value_count; index++) {
        const Value *value = &steps->values[index];
        if (value->origin == CONSTANT && value->needed) {
            char *place = place_of(value, scratch, start);
            fill(place, value->kept ? stop - start : block, steps->item, value->number);
        }
    }
    for (; start < stop; start += block) {
        const npy_intp count = stop - start < block ? stop - start : block;
        for (int number = 0; number < steps->step_count; number++) {
            const Step *step = &steps->steps[number];
            const Value *result = &steps->values[step->result];
            const void *reads[3];
            for (int place = 0; place < 3; place++) {
                reads[place]
                    = step->reads[place] == NO_VALUE ? NULL : place_of(&steps->values[step->reads[place]], scratch, start);
            }
            if (result->needed) {
                step->loop(reads[0], reads[1], reads[2], step->number, place_of(result, scratch, start), count);
            }
        }
    }
}

/* Lets go of all values. */
static void
forget(Steps *steps)
{
    const int count = steps->value_count;
    PyObject *arrays[MOST_VALUES];
    for (int index = 0; index < count; index++) {
        arrays[index] = steps->values[index].array;
    }
    steps->step_count = steps->value_count = 0; /* first: the end of an array may run anything */
    for (int index = 0; index < count; index++) {
        Py_DECREF(arrays[index]);
    }
}

int
chain_do(Chain *chain)
{
    Steps *steps = chain->steps;
    look_at_values(steps);
    if (find_places(steps) < 0) {
        return -1;
    }
    PyThreadState *released = PyEval_SaveThread();
    in_threads(shared_threads, do_blocks, steps, steps->size, THREAD_GRAIN);
    PyEval_RestoreThread(released);
    forget(steps);
    return 0;
}

void
chain_close(Chain *chain)
{
    if (chain->steps != NULL) {
        forget(chain->steps);
        PyMem_Free(unused);
        unused = chain->steps;
        chain->steps = NULL;
    }
}
