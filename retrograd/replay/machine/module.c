/* The machine as a Python type: made of a list of instructions, which are checked here, and run with arrays. */
#define IMPORTS_NUMPY
#include "object.h"

#include "../../backend/kernels/builds.h"
#include "../../backend/kernels/sources.h"
#include "../../backend/kernels/threads.h"

#define REGISTER_BYTES 24576 /* of all registers together: they stay in the first-level cache */
#define PART 65536               /* elements that a thread does at once */
#define MOST_PART_TOTALS 65536   /* numbers that all parts of a chain add up into */
#define LONG_WORK 32768          /* operations: from here on other Python threads may run meanwhile */
#define STREAMED_BYTES (8 << 20) /* an array of so many is not in the caches when it is read again */
#define ALIGNMENT 64

static const MachineLoops *loops;
static const ThreadPool *pool;

/* ---- reading ------------------------------------------------------------------------------------------------------ */

int
fail(const char *message)
{
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, message);
    }
    return 0;
}

/* A new array of zeros, one longer than wanted so that it is never empty. */
void *
zeros(Py_ssize_t count, size_t size)
{
    void *found = PyMem_Calloc((size_t)count + 1, size);
    if (found == NULL) {
        PyErr_NoMemory();
    }
    return found;
}

static int
read_sizes(PyObject *tuple, ptrdiff_t *sizes, int most, int *count)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > most) {
        return fail("sizes are a tuple, and not too many");
    }
    *count = (int)PyTuple_GET_SIZE(tuple);
    for (int at = 0; at < *count; at++) {
        sizes[at] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, at));
    }
    return !PyErr_Occurred();
}

/* Whether an array of these strides lies inside of its buffer, at places that its elements may have. */
static int
lies_inside(const Machine *self, int buffer, ptrdiff_t offset, int dims, const ptrdiff_t *shape,
            const ptrdiff_t *strides, ptrdiff_t itemsize)
{
    if (buffer < 0 || buffer >= self->buffers) {
        return fail("there is no such buffer");
    }
    if (self->buffer[buffer].kind == FROM_CALL && !self->buffer[buffer].there && self->instruction != NULL) {
        return fail("no call has given what an instruction names");
    }
    ptrdiff_t low = offset, high = offset;
    int empty = 0;
    for (int dim = 0; dim < dims; dim++) {
        ptrdiff_t reach;
        if (shape[dim] < 0 || strides[dim] % itemsize != 0
            || __builtin_mul_overflow(shape[dim] - 1, strides[dim], &reach)
            || __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) {
            return fail("an array has a bad shape or strides");
        }
        empty |= shape[dim] == 0;
    }
    if (offset % itemsize != 0 || (!empty && (low < 0 || high > self->buffer[buffer].size - itemsize))) {
        return fail("an array does not lie inside of its buffer");
    }
    return 1;
}

static int
read_buffers(Machine *self, PyObject *list)
{
    ptrdiff_t arena = 0;
    self->buffers = (int)PyList_GET_SIZE(list);
    self->buffer = zeros(self->buffers, sizeof(Buffer));
    self->base = zeros(self->buffers, sizeof(char *));
    if (self->buffer == NULL || self->base == NULL) {
        return 0;
    }
    for (int at = 0; at < self->buffers; at++) {
        Buffer *buffer = self->buffer + at;
        PyObject *value;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, at), "inO", &buffer->kind, &buffer->size, &value)) {
            return 0;
        }
        buffer->whole = buffer->first = -1;
        if (buffer->size < 0 || buffer->kind < 0 || buffer->kind >= BUFFER_KINDS) {
            return fail("a buffer has a bad kind or size");
        }
        if (buffer->kind == FROM_CONSTANT) {
            if (!PyArray_Check(value) || PyArray_NBYTES(ARRAY(value)) < buffer->size
                || !PyArray_ISONESEGMENT(ARRAY(value))) {
                return fail("a constant is an array in one piece, as large as its buffer");
            }
            buffer->owner = Py_NewRef(value);
            self->base[at] = PyArray_BYTES(ARRAY(value));
        }
        else if (buffer->kind == FROM_ARENA) {
            const ptrdiff_t offset = buffer->place = PyLong_AsSsize_t(value);
            if (offset < 0 || offset % ALIGNMENT != 0 || offset > PY_SSIZE_T_MAX / 2 - buffer->size) {
                return fail("a buffer has a bad place");
            }
            arena = offset + buffer->size > arena ? offset + buffer->size : arena;
        }
        else if (buffer->kind == FROM_CALL) {
            buffer->leaves = value == Py_True;
        }
    }
    npy_intp size = arena + 2 * ALIGNMENT; /* to begin at a multiple, and to end at one: see `directness` */
    self->arena = PyArray_ZEROS(1, &size, NPY_UINT8, 0);
    if (self->arena == NULL) {
        return 0;
    }
    char *start = PyArray_BYTES(ARRAY(self->arena));
    start += (ALIGNMENT - (uintptr_t)start % ALIGNMENT) % ALIGNMENT;
    for (int at = 0; at < self->buffers; at++) {
        if (self->buffer[at].kind == FROM_ARENA) {
            self->base[at] = start + self->buffer[at].place;
            self->buffer[at].owner = Py_NewRef(self->arena);
        }
    }
    return 1;
}

/* (buffer, offset, shape, strides, dtype, written) */
static int
read_views(Machine *self, PyObject *list)
{
    self->views = (int)PyList_GET_SIZE(list);
    self->view = zeros(self->views, sizeof(View));
    for (int at = 0; self->view != NULL && at < self->views; at++) {
        View *view = self->view + at;
        PyObject *shape, *strides, *dtype;
        int other = 0;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, at), "inOOO!p", &view->buffer, &view->offset, &shape, &strides,
                              &PyArrayDescr_Type, &dtype, &view->written)
            || !read_sizes(shape, view->shape, NPY_MAXDIMS, &view->dims)
            || !read_sizes(strides, view->strides, NPY_MAXDIMS, &other)) {
            return 0;
        }
        view->dtype = (PyArray_Descr *)Py_NewRef(dtype);
        if (other != view->dims || PyDataType_REFCHK(view->dtype)) {
            return fail("a view has as many strides as dimensions, and elements that are no objects");
        }
        const ptrdiff_t itemsize = PyDataType_ELSIZE(view->dtype);
        if (itemsize < 1 || !lies_inside(self, view->buffer, view->offset, view->dims, view->shape, view->strides, 1)
            || (view->offset + itemsize > self->buffer[view->buffer].size && self->buffer[view->buffer].size > 0)) {
            return fail("a view does not lie inside of its buffer");
        }
        view->next = self->buffer[view->buffer].first;
        self->buffer[view->buffer].first = at;
    }
    return self->view != NULL;
}

/* Whether a view is as an array is that has the buffer for itself. */
static int
is_whole(const Machine *self, const View *view)
{
    ptrdiff_t size = PyDataType_ELSIZE(view->dtype);
    for (int dim = view->dims - 1; dim >= 0; dim--) {
        if (view->strides[dim] != size && view->shape[dim] != 1) {
            return 0;
        }
        size *= view->shape[dim];
    }
    return view->offset == 0 && size == self->buffer[view->buffer].size;
}

/* Numbers in a tuple, from -1 on. */
int
read_numbers(PyObject *tuple, int *numbers, int below)
{
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(tuple); at++) {
        const long number = PyLong_AsLong(PyTuple_GET_ITEM(tuple, at));
        if (number < -1 || number >= below || PyErr_Occurred()) {
            return fail("a number names nothing");
        }
        numbers[at] = (int)number;
    }
    return 1;
}

static int
read_ends(Machine *self, PyObject *list, int **numbers, int *count)
{
    *count = (int)PyList_GET_SIZE(list);
    *numbers = zeros(*count, sizeof(int));
    for (int at = 0; *numbers != NULL && at < *count; at++) {
        const long number = PyLong_AsLong(PyList_GET_ITEM(list, at));
        if (number < 0 || number >= self->views) {
            return fail("there is no such view");
        }
        (*numbers)[at] = (int)number;
    }
    return *numbers != NULL;
}

/* ---- chains --------------------------------------------------------------------------------------------------------- */

static ptrdiff_t
size_of_kind(int kind, int number)
{
    const ptrdiff_t sizes[2][5] = {{4, 1, 8, 4, 8}, {8, 1, 8, 4, 4}};
    return kind < 0 || kind > 4 ? 0 : sizes[number][kind];
}

static int
read_place(const Machine *self, const Chain *chain, int number, PyObject *tuple, Place *place)
{
    PyObject *strides;
    int dims = 0;
    if (!PyArg_ParseTuple(tuple, "inOi", &place->buffer, &place->offset, &strides, &place->kind)
        || !read_sizes(strides, place->strides, MOST_DIMS, &dims)) {
        return 0;
    }
    const ptrdiff_t itemsize = size_of_kind(place->kind, number);
    if (dims != chain->dims || itemsize == 0) {
        return fail("a place has other dimensions than its chain, or a bad kind");
    }
    if (!lies_inside(self, place->buffer, place->offset, dims, chain->shape, place->strides, itemsize)) {
        return 0;
    }
    ptrdiff_t wanted = itemsize;
    int in_line = place->kind == AS_REAL, uniform = 1;
    for (int dim = dims - 1; dim >= 0; dim--) {
        in_line &= place->strides[dim] == wanted || chain->shape[dim] == 1;
        uniform &= place->strides[dim] == 0 || chain->shape[dim] == 1;
        wanted *= chain->shape[dim];
    }
    place->walk = in_line ? IN_LINE : uniform ? UNIFORM : BY_STRIDES;
    return 1;
}

/* (buffer, offset, strides of the totals, how many, scale, kind) */
static int
read_sum(const Machine *self, Chain *chain, int number, PyObject *tuple, Sum *sum)
{
    PyObject *strides;
    int dims = 0;
    if (!PyArg_ParseTuple(tuple, "inOndi", &sum->buffer, &sum->offset, &strides, &sum->count, &sum->scale, &sum->kind)
        || !read_sizes(strides, sum->strides, MOST_DIMS, &dims)) {
        return 0;
    }
    const ptrdiff_t itemsize = number ? sizeof(double) : sizeof(float);
    ptrdiff_t last = 0;
    sum->all = 1;
    for (int dim = 0; dim < dims; dim++) {
        if (sum->strides[dim] < 0 || sum->strides[dim] > sum->count) {
            return fail("a sum has bad strides");
        }
        last += chain->shape[dim] == 0 ? 0 : (chain->shape[dim] - 1) * sum->strides[dim];
        sum->all &= sum->strides[dim] == 0;
    }
    if (dims != chain->dims || sum->count < 0 || sum->kind < 0 || sum->kind >= REDUCTIONS || (chain->size > 0 && last >= sum->count)) {
        return fail("a sum does not fit its chain");
    }
    sum->first = chain->totals;
    chain->totals += sum->count;
    return lies_inside(self, sum->buffer, sum->offset, 1, &sum->count, &itemsize, itemsize);
}

static int
operands_of(int operation)
{
    return operation >= PRIMITIVE_where                                                           ? 3
           : operation >= PRIMITIVE_add && operation <= PRIMITIVE_fmod                            ? 2
                                                                                                  : 1;
}

/* Checks the numbers that a step names; registers are written before they are read. */
static int
check_step(const Chain *chain, Step *step, int at, char *written)
{
    const int uniform = at < chain->uniform_steps;
    const int operation = step->operation, makes = operation <= PRIMITIVES || operation == CONSTANT; /* LOAD too */
    if (operation >= OPERATIONS || step->to >= chain->registers
        || (makes && (step->to < chain->uniform_steps) != uniform)) {
        return fail("a step has a bad operation or register");
    }
    if (operation == LOAD || operation == CONSTANT) {
        if (step->a >= (operation == LOAD ? chain->places : chain->constants) || (operation == CONSTANT && !uniform)
            || (uniform && operation == LOAD && (chain->place[step->a].walk != UNIFORM && chain->size > 1))) {
            return fail("a step reads what is not there");
        }
        written[step->to] = (char)(uniform ? 2 : 1);
        return 1;
    }
    uint16_t *const names[3] = {&step->a, &step->b, &step->c};
    uint8_t *const steps[3] = {&step->step_a, &step->step_b, &step->step_c};
    const int count = operation >= PRIMITIVES ? 1 : operands_of(operation);
    for (int each = 0; each < 3; each++) {
        if (each >= count) {
            if (operation < PRIMITIVES) {
                *names[each] = 0;
            }
            continue;
        }
        if (*names[each] >= chain->registers || !written[*names[each]] || (uniform && written[*names[each]] == 1)) {
            return fail("a step reads a register that has no value");
        }
        *steps[each] = written[*names[each]] == 1;
    }
    if ((operation == STORE && (step->b >= chain->places || chain->place[step->b].kind == AS_INT64
                                || chain->place[step->b].kind == AS_INT32))
        || (operation == SUM && step->b >= chain->sums) || (operation >= PRIMITIVES && uniform)) {
        return fail("a step writes what is not there");
    }
    if (operation < PRIMITIVES) {
        written[step->to] = (char)(uniform ? 2 : 1);
    }
    return 1;
}

/* Whether a chain writes into a buffer. */
static int
is_stored(const Chain *chain, int buffer)
{
    for (const Step *step = chain->step; step < chain->step + chain->steps; step++) {
        if (step->operation == STORE && chain->place[step->b].buffer == buffer) {
            return 1;
        }
    }
    return 0;
}

/* How a place in line serves as a register: parts of the arena end at multiples of the longest vector, and nobody reads
 * what is behind their elements. A place that begins between two multiples may end with a vector that goes on into the
 * next part. */
static uint8_t
directness(const Machine *self, const Chain *chain, const Place *place, ptrdiff_t item)
{
    const Buffer *buffer = self->buffer + place->buffer;
    if (place->walk != IN_LINE) {
        return 0;
    }
    const int at_end = place->offset + chain->size * item == buffer->size;
    return buffer->kind == FROM_ARENA && place->offset % ALIGNMENT == 0 && at_end ? 2 : 1;
}

static int
read_steps(const Machine *self, Chain *chain, PyObject *list, ptrdiff_t item)
{
    char written[MOST_REGISTERS] = {0};
    for (int at = 0; at < chain->steps; at++) {
        Step *step = chain->step + at;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, at), "HHHHH", &step->operation, &step->to, &step->a, &step->b,
                              &step->c)
            || !check_step(chain, step, at, written)) {
            return 0;
        }
    }
    const Step *end = chain->step + chain->steps;
    for (Step *step = chain->step + chain->uniform_steps; step < end; step++) {
        const Step *next = step + 1;
        if (step->operation == LOAD) {
            const Place *place = chain->place + step->a;
            step->direct = is_stored(chain, place->buffer) ? 0 : directness(self, chain, place, item);
        }
        else {
            const int stored = step->operation < PRIMITIVES && next < end && next->operation == STORE && next->a == step->to;
            step->direct = stored ? directness(self, chain, chain->place + next->b, item) : 0;
        }
    }
    return 1;
}

/* (number, shape, places, sums, constants, steps, uniform steps, registers) */
static int
read_chain(const Machine *self, PyObject *tuple, Instruction *made)
{
    PyObject *shape, *places, *sums, *constants, *steps;
    Chain *chain = &made->chain;
    if (!PyArg_ParseTuple(tuple, "iOO!O!O!O!ii", &made->number, &shape, &PyList_Type, &places, &PyList_Type, &sums,
                          &PyList_Type, &constants, &PyList_Type, &steps, &chain->uniform_steps, &chain->registers)
        || !read_sizes(shape, chain->shape, MOST_DIMS, &chain->dims)) {
        return 0;
    }
    chain->places = (int)PyList_GET_SIZE(places);
    chain->sums = (int)PyList_GET_SIZE(sums);
    chain->constants = (int)PyList_GET_SIZE(constants);
    chain->steps = (int)PyList_GET_SIZE(steps);
    if (made->number < 0 || made->number > 1 || chain->dims < 1 || chain->registers < 1
        || chain->registers > MOST_REGISTERS || chain->uniform_steps < 0 || chain->uniform_steps > chain->steps) {
        return fail("a chain has bad numbers");
    }
    chain->size = 1;
    for (int dim = 0; dim < chain->dims; dim++) {
        if (chain->shape[dim] < 0 || __builtin_mul_overflow(chain->size, chain->shape[dim], &chain->size)) {
            return fail("a chain has a bad shape");
        }
    }
    const int blocks = chain->registers > chain->uniform_steps ? chain->registers - chain->uniform_steps : 1;
    const ptrdiff_t fitting = REGISTER_BYTES / (blocks * (made->number ? 8 : 4)) / 64 * 64;
    chain->streams = chain->size >= STREAMED_BYTES / (made->number ? 8 : 4);
    chain->block = fitting < 64 ? 64 : fitting > 2048 ? 2048 : fitting;
    chain->place = zeros(chain->places, sizeof(Place));
    chain->sum = zeros(chain->sums, sizeof(Sum));
    chain->constant = zeros(chain->constants, sizeof(double));
    chain->step = zeros(chain->steps, sizeof(Step));
    if (chain->place == NULL || chain->sum == NULL || chain->constant == NULL || chain->step == NULL) {
        return 0;
    }
    for (int at = 0; at < chain->places; at++) {
        if (!read_place(self, chain, made->number, PyList_GET_ITEM(places, at), chain->place + at)) {
            return 0;
        }
    }
    for (int at = 0; at < chain->sums; at++) {
        if (!read_sum(self, chain, made->number, PyList_GET_ITEM(sums, at), chain->sum + at)) {
            return 0;
        }
    }
    for (int at = 0; at < chain->constants; at++) {
        chain->constant[at] = PyFloat_AsDouble(PyList_GET_ITEM(constants, at));
    }
    chain->parts = (chain->size + PART - 1) / PART;
    if (chain->parts < 1 || chain->totals > MOST_PART_TOTALS / chain->parts) {
        chain->parts = 1;
    }
    return !PyErr_Occurred() && read_steps(self, chain, steps, made->number ? sizeof(double) : sizeof(float));
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Whether an item of a batch is a matrix as BLAS takes it: one of its strides is 1 and the other reaches over that. */
static int
is_plain(const Matrix *matrix, ptrdiff_t rows, ptrdiff_t columns, int result)
{
    if ((matrix->of_column == 1 || columns == 1) && (matrix->of_row >= columns || rows == 1)) {
        return 1;
    }
    return !result && (matrix->of_row == 1 || rows == 1) && (matrix->of_column >= rows || columns == 1);
}

static int
read_matrix(const Machine *self, PyObject *tuple, Matrix *matrix, ptrdiff_t batch, ptrdiff_t rows, ptrdiff_t columns,
            int number)
{
    if (!PyArg_ParseTuple(tuple, "innnn", &matrix->buffer, &matrix->offset, &matrix->of_batch, &matrix->of_row,
                          &matrix->of_column)) {
        return 0;
    }
    const ptrdiff_t size = number ? sizeof(double) : sizeof(float), shape[3] = {batch, rows, columns};
    ptrdiff_t strides[3] = {matrix->of_batch, matrix->of_row, matrix->of_column};
    for (int dim = 0; dim < 3; dim++) {
        if (__builtin_mul_overflow(strides[dim], size, strides + dim)) {
            return fail("a matrix has bad strides");
        }
    }
    return lies_inside(self, matrix->buffer, matrix->offset, 3, shape, strides, size);
}

#define SMALL_PRODUCT 4096

/* (number, batch, rows, columns, inner, a, b, result, bias or None) */
static int
read_product(const Machine *self, PyObject *tuple, Instruction *made)
{
    PyObject *a, *b, *result, *bias;
    Product *p = &made->product;
    if (!PyArg_ParseTuple(tuple, "innnnO!O!O!O", &made->number, &p->batch, &p->rows, &p->columns, &p->inner,
                          &PyTuple_Type, &a, &PyTuple_Type, &b, &PyTuple_Type, &result, &bias)) {
        return 0;
    }
    p->biased = bias != Py_None;
    if (made->number < 0 || made->number > 1 || p->batch < 0 || p->rows < 0 || p->columns < 0 || p->inner < 0
        || !read_matrix(self, a, &p->a, p->batch, p->rows, p->inner, made->number)
        || !read_matrix(self, b, &p->b, p->batch, p->inner, p->columns, made->number)
        || !read_matrix(self, result, &p->result, p->batch, p->rows, p->columns, made->number)
        || (p->biased && (!PyTuple_Check(bias) || !read_matrix(self, bias, &p->bias, p->batch, p->rows, p->columns, made->number)))) {
        return fail("a product has bad numbers");
    }
    made->small = (double)p->rows * (double)p->columns * (double)p->inner <= SMALL_PRODUCT;
    if (!made->small
        && (p->biased || !has_blas() || !is_plain(&p->a, p->rows, p->inner, 0) || !is_plain(&p->b, p->inner, p->columns, 0)
            || !is_plain(&p->result, p->rows, p->columns, 1))) {
        return fail("a product is not one that BLAS does");
    }
    return 1;
}

/* (number, function, rows, columns, ((buffer, offset), the second operand or the first again, the result)) */
static int
read_rows(const Machine *self, PyObject *tuple, Instruction *made)
{
    Rows *rows = &made->rows;
    if (!PyArg_ParseTuple(tuple, "iinn((in)(in)(in))", &made->number, &rows->function, &rows->rows, &rows->columns,
                          rows->buffer, rows->offset, rows->buffer + 1, rows->offset + 1, rows->buffer + 2,
                          rows->offset + 2)) {
        return 0;
    }
    if (made->number < 0 || made->number > 1 || rows->function < 0 || rows->function >= ROW_FUNCTIONS || rows->rows < 0
        || rows->columns < 1) {
        return fail("a function of rows has bad numbers");
    }
    const ptrdiff_t item = made->number ? sizeof(double) : sizeof(float), shape[2] = {rows->rows, rows->columns};
    ptrdiff_t strides[2] = {0, item};
    if (__builtin_mul_overflow(rows->columns, item, strides)) {
        return fail("a function of rows has bad numbers");
    }
    for (int each = 0; each < 3; each++) {
        if (!lies_inside(self, rows->buffer[each], rows->offset[each], 2, shape, strides, item)) {
            return 0;
        }
    }
    return 1;
}

/* How many operations an instruction does that calls nothing. */
static double
work_of(const Instruction *made)
{
    const Product *p = &made->product;
    return made->what == RUN_CHAIN     ? (double)made->chain.size * made->chain.steps
           : made->what == RUN_PRODUCT ? (double)p->batch * (double)p->rows * (double)p->columns * (double)p->inner
           : made->what == RUN_ROWS    ? (double)made->rows.rows * (double)made->rows.columns * 20
                                       : 0;
}

/* ---- the machine -------------------------------------------------------------------------------------------------- */

static int
read_released(Machine *self, PyObject *tuple, Instruction *made)
{
    made->released = zeros(PyTuple_GET_SIZE(tuple), sizeof(int));
    if (made->released == NULL || !read_numbers(tuple, made->released, self->buffers)) {
        return 0;
    }
    made->releases = (int)PyTuple_GET_SIZE(tuple);
    for (int each = 0; each < made->releases; each++) {
        const int at = made->released[each];
        if (at < 0 || self->buffer[at].kind != FROM_CALL || !self->buffer[at].there || self->buffer[at].leaves) {
            return fail("what is let go is none that a call gave");
        }
        self->buffer[at].there = 0;
    }
    return 1;
}

static int
read_instructions(Machine *self, PyObject *list)
{
    ptrdiff_t registers = 0, totals = 0;
    self->instructions = (int)PyList_GET_SIZE(list);
    self->instruction = zeros(self->instructions, sizeof(Instruction));
    for (int at = 0; self->instruction != NULL && at < self->instructions; at++) {
        PyObject *item = PyList_GET_ITEM(list, at), *facts, *released = NULL;
        Instruction *made = self->instruction + at;
        if (!PyArg_ParseTuple(item, "iO|O!", &made->what, &facts, &PyTuple_Type, &released)) {
            return 0;
        }
        if (!PyTuple_Check(facts) || made->what < 0 || made->what > RUN_ROWS) {
            return fail("an instruction is of an unknown kind");
        }
        if (!(made->what == RUN_CHAIN     ? read_chain(self, facts, made)
              : made->what == RUN_PRODUCT ? read_product(self, facts, made)
              : made->what == RUN_ROWS    ? read_rows(self, facts, made)
                                          : read_kernel(self, facts, &made->kernel))) {
            return 0;
        }
        if (released != NULL && !read_released(self, released, made)) {
            return 0;
        }
        made->is_long = work_of(made) >= LONG_WORK;
        if (made->what == RUN_CHAIN) {
            const Chain *chain = &made->chain;
            made->register_bytes =
                (chain->uniform_steps * MOST_LANES + chain->registers * chain->block) * (made->number ? 8 : 4);
            registers = made->register_bytes > registers ? made->register_bytes : registers;
            totals = chain->totals * chain->parts > totals ? chain->totals * chain->parts : totals;
        }
    }
    self->registers = zeros(registers + ALIGNMENT, 1);
    self->totals = zeros(totals, sizeof(double));
    return self->instruction != NULL && self->registers != NULL && self->totals != NULL;
}

static void
machine_dealloc(Machine *self)
{
    PyObject_GC_UnTrack(self);
    for (int at = 0; self->instruction != NULL && at < self->instructions; at++) {
        Instruction *made = self->instruction + at;
        if (made->what == RUN_CHAIN) {
            PyMem_Free(made->chain.place);
            PyMem_Free(made->chain.step);
            PyMem_Free(made->chain.sum);
            PyMem_Free(made->chain.constant);
        }
        else if (made->what == RUN_KERNEL) {
            free_kernel(&made->kernel);
        }
        PyMem_Free(made->released);
    }
    for (int at = 0; self->view != NULL && at < self->views; at++) {
        Py_XDECREF(self->view[at].dtype);
        Py_XDECREF(self->view[at].array);
    }
    for (int at = 0; self->buffer != NULL && at < self->buffers; at++) {
        Py_XDECREF(self->buffer[at].owner);
        Py_XDECREF(self->buffer[at].kept);
    }
    Py_XDECREF(self->arena);
    PyMem_Free(self->instruction);
    PyMem_Free(self->view);
    PyMem_Free(self->buffer);
    PyMem_Free(self->base);
    PyMem_Free(self->input);
    PyMem_Free(self->output);
    PyMem_Free(self->fleeting);
    PyMem_Free(self->leaving);
    PyMem_Free(self->taken);
    PyMem_Free(self->registers);
    PyMem_Free(self->totals);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static int
machine_traverse(Machine *self, visitproc visit, void *arg)
{
    for (int at = 0; self->instruction != NULL && at < self->instructions; at++) {
        if (self->instruction[at].what == RUN_KERNEL && visit_kernel(&self->instruction[at].kernel, visit, arg)) {
            return -1;
        }
    }
    return 0;
}

static int
machine_clear(Machine *self)
{
    for (int at = 0; self->instruction != NULL && at < self->instructions; at++) {
        if (self->instruction[at].what == RUN_KERNEL) {
            Py_CLEAR(self->instruction[at].kernel.function);
            Py_CLEAR(self->instruction[at].kernel.fallback);
        }
    }
    return 0;
}

/* Lists what each run makes and lets go. */
static int
find_fleeting(Machine *self)
{
    self->fleeting = zeros(self->views, sizeof(int));
    self->leaving = zeros(self->buffers, sizeof(int));
    self->taken = zeros(self->buffers, sizeof(int));
    if (self->fleeting == NULL || self->leaving == NULL || self->taken == NULL) {
        return 0;
    }
    for (int at = 0; at < self->views; at++) {
        const int kind = self->buffer[self->view[at].buffer].kind;
        if (kind == FROM_INPUT || kind == FROM_OUTPUT || kind == FROM_CALL) {
            self->fleeting[self->fleetings++] = at;
        }
    }
    for (int at = 0; at < self->buffers; at++) {
        if (self->buffer[at].kind == FROM_OUTPUT) {
            self->leaving[self->leavings++] = at;
        }
        if (self->buffer[at].kind == FROM_CALL) {
            self->taken[self->takings++] = at;
        }
    }
    return 1;
}

static PyObject *
machine_new(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(keywords))
{
    PyObject *buffers, *views, *inputs, *outputs, *instructions;
    if (!PyArg_ParseTuple(arguments, "O!O!O!O!O!", &PyList_Type, &buffers, &PyList_Type, &views, &PyList_Type, &inputs,
                          &PyList_Type, &outputs, &PyList_Type, &instructions)) {
        return NULL;
    }
    Machine *self = (Machine *)type->tp_alloc(type, 0);
    if (self == NULL || !read_buffers(self, buffers) || !read_views(self, views)
        || !read_ends(self, inputs, &self->input, &self->inputs)
        || !read_ends(self, outputs, &self->output, &self->outputs) || !read_instructions(self, instructions)) {
        Py_XDECREF(self);
        return NULL;
    }
    for (int at = 0; at < self->inputs; at++) {
        if (self->buffer[self->view[self->input[at]].buffer].kind != FROM_INPUT) {
            fail("an input is bound to a buffer of another kind");
            Py_DECREF(self);
            return NULL;
        }
    }
    if (!find_fleeting(self)) {
        Py_DECREF(self);
        return NULL;
    }
    for (int at = 0; at < self->outputs; at++) {
        const View *view = self->view + self->output[at];
        Buffer *buffer = self->buffer + view->buffer;
        if ((buffer->kind == FROM_OUTPUT || buffer->leaves) && buffer->whole < 0 && is_whole(self, view)) {
            buffer->whole = self->output[at];
        }
    }
    return (PyObject *)self;
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

static int
is_as_declared(const View *view, PyObject *object)
{
    if (!PyArray_CheckExact(object)) {
        return 0;
    }
    PyArrayObject *array = ARRAY(object);
    if (PyArray_NDIM(array) != view->dims || PyArray_DESCR(array)->type_num != view->dtype->type_num
        || !PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array)
        || (view->written && !PyArray_ISWRITEABLE(array))) {
        return 0;
    }
    for (int dim = 0; dim < view->dims; dim++) {
        if (PyArray_DIM(array, dim) != view->shape[dim]
            || (PyArray_STRIDE(array, dim) != view->strides[dim] && view->shape[dim] > 1)) {
            return 0;
        }
    }
    return 1;
}

static int
bind_inputs(Machine *self, PyObject *const *given, Py_ssize_t count)
{
    if (count != self->inputs) {
        PyErr_Format(PyExc_TypeError, "run() takes %d arrays, not %zd", self->inputs, count);
        return 0;
    }
    for (int at = 0; at < self->inputs; at++) {
        const View *view = self->view + self->input[at];
        if (!is_as_declared(view, given[at])) {
            PyErr_Format(PyExc_ValueError, "array %d is laid out otherwise than it was recorded", at);
            return 0;
        }
        Buffer *buffer = self->buffer + view->buffer;
        Py_XSETREF(buffer->owner, Py_NewRef(given[at]));
        self->base[view->buffer] = PyArray_BYTES(ARRAY(given[at])) - view->offset;
    }
    return 1;
}

/* A chain in threads: each has registers of its own. */
typedef struct {
    const Machine *machine;
    const Instruction *instruction;
    int failed; /* no memory for registers */
} Work;

static char *
aligned(void *memory)
{
    char *start = memory;
    return start + (ALIGNMENT - (uintptr_t)start % ALIGNMENT) % ALIGNMENT;
}

static void
run_parts(void *context, npy_intp start, npy_intp stop)
{
    Work *work = context;
    const Instruction *made = work->instruction;
    const Chain *chain = &made->chain;
    void *registers = malloc((size_t)made->register_bytes + ALIGNMENT);
    if (registers == NULL) {
        __atomic_store_n(&work->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (npy_intp part = start; part < stop; part++) {
        const npy_intp end = part + 1 == chain->parts ? chain->size : (part + 1) * PART;
        loops->part[made->number](chain, work->machine->base, aligned(registers),
                                  work->machine->totals + part * chain->totals, part * PART, end);
    }
    free(registers);
}

static void
run_chain(const Machine *self, const Instruction *made)
{
    const Chain *chain = &made->chain;
    Work work = {.machine = self, .instruction = made};
    if (chain->parts > 1 && pool != NULL && pool->count() > 1) {
        in_threads(pool, run_parts, &work, chain->parts, 1);
    }
    else {
        work.failed = 1;
    }
    for (ptrdiff_t part = 0; work.failed && part < chain->parts; part++) {
        const ptrdiff_t end = part + 1 == chain->parts ? chain->size : (part + 1) * PART;
        loops->part[made->number](chain, self->base, aligned(self->registers), self->totals + part * chain->totals,
                                  part * PART, end);
    }
    loops->end_sums[made->number](chain, self->base, self->totals, chain->parts);
}

/* Touches no object of Python: long ones run while other threads do. */
static void
run_loops(const Machine *self, const Instruction *made)
{
    PyThreadState *released = made->is_long ? PyEval_SaveThread() : NULL;
    if (made->what == RUN_CHAIN) {
        run_chain(self, made);
    }
    else if (made->what == RUN_ROWS) {
        loops->rows[made->number](&made->rows, self->base);
    }
    else if (made->small) {
        loops->small_product[made->number](&made->product, self->base);
    }
    else {
        blas_product(&made->product, made->number, self->base);
    }
    if (released != NULL) {
        PyEval_RestoreThread(released);
    }
}

static int
run_all(Machine *self)
{
    for (const Instruction *each = self->instruction; each < self->instruction + self->instructions; each++) {
        if (each->what != RUN_KERNEL) {
            run_loops(self, each);
        }
        else if (!run_kernel(self, &each->kernel)) {
            return 0;
        }
        if (each->releases) {
            release(self, each);
        }
    }
    return 1;
}

static PyObject *
machine_run(Machine *self, PyObject *given)
{
    if (self->running) {
        PyErr_SetString(PyExc_RuntimeError, "the machine is running");
        return NULL;
    }
    PyObject *arrays = PySequence_Fast(given, "run() takes a sequence of arrays"), *found = NULL;
    if (arrays == NULL) {
        return NULL;
    }
    self->running = 1;
    if (bind_inputs(self, PySequence_Fast_ITEMS(arrays), PySequence_Fast_GET_SIZE(arrays)) && make_outputs(self)
        && run_all(self)) {
        found = PyList_New(self->outputs);
    }
    for (int at = 0; found != NULL && at < self->outputs; at++) {
        PyObject *array = view_array(self, self->view + self->output[at]);
        if (array == NULL) {
            Py_CLEAR(found);
        }
        else {
            PyList_SET_ITEM(found, at, array);
        }
    }
    let_go(self);
    self->running = 0;
    Py_DECREF(arrays);
    return found;
}

static PyObject *
machine_view(Machine *self, PyObject *number)
{
    const long at = PyLong_AsLong(number);
    if (at < 0 || at >= self->views || !self->running) {
        fail("views are there while the machine runs");
        return NULL;
    }
    return view_array(self, self->view + at);
}

static PyMethodDef machine_methods[] = {
    {"run", (PyCFunction)machine_run, METH_O, "run(arrays): the outputs for these inputs."},
    {"view", (PyCFunction)machine_view, METH_O, "view(number): the array of a view, while the machine runs."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject MachineType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "retrograd.replay._machine.Machine",
    .tp_basicsize = sizeof(Machine),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Machine(buffers, views, inputs, outputs, instructions)",
    .tp_new = machine_new,
    .tp_dealloc = (destructor)machine_dealloc,
    .tp_traverse = (traverseproc)machine_traverse,
    .tp_clear = (inquiry)machine_clear,
    .tp_methods = machine_methods,
};

/* ---- the module --------------------------------------------------------------------------------------------------- */

BUILDS_OF(machine, loops)

static PyObject *
module_find_blas(PyObject *Py_UNUSED(module), PyObject *path)
{
    const char *text = PyUnicode_AsUTF8(path);
    return text == NULL ? NULL : PyBool_FromLong(find_blas(text));
}

static PyMethodDef methods[] = {
    {"builds", machine_builds, METH_NOARGS, "builds(): the builds of the loops that can run here, the fastest first."},
    {"use_build", machine_use_build, METH_O, "use_build(name): compute with that build; the name of the one before."},
    {"find_blas", module_find_blas, METH_O, "find_blas(library): whether that loaded library has products for us."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_machine", .m_doc = "Runs the instructions of a replayed step.", .m_size = -1,
    .m_methods = methods,
};

/* The numbers of the primitives and of what else a step does, by name. */
static PyObject *
operation_numbers(void)
{
#define NAME(name) #name,
    static const char *const names[] = {UNARY_PRIMITIVES(NAME) BINARY_PRIMITIVES(NAME) TERNARY_PRIMITIVES(NAME) "LOAD",
                                        "STORE", "CONSTANT", "SUM"};
    PyObject *found = PyDict_New();
    for (int at = 0; found != NULL && at < OPERATIONS; at++) {
        PyObject *number = PyLong_FromLong(at);
        if (number == NULL || PyDict_SetItemString(found, names[at], number) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(number);
    }
    return found;
}

PyMODINIT_FUNC
PyInit__machine(void)
{
    const void *builds[MOST_BUILDS];
    import_array();
    usable_builds(builds);
    loops = builds[0];
    pool = find_thread_pool();
    PyObject *module = PyType_Ready(&MachineType) < 0 ? NULL : with_sources(PyModule_Create(&definition));
    PyObject *numbers = module == NULL ? NULL : operation_numbers();
    if (numbers == NULL || PyModule_AddObjectRef(module, "OPERATIONS", numbers) < 0
        || PyModule_AddObjectRef(module, "Machine", (PyObject *)&MachineType) < 0) {
        Py_CLEAR(module);
    }
    Py_XDECREF(numbers);
    return module;
}
