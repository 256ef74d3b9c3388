/* Ops with several results (max along a dimension, topk), with pieces of one tensor as results (unbind, split), and with
 * a list of tensors as operand (cat, stack): what the functions of `calling.compile_many` do.
 */
#include "caller.h"

/* Gives a result its place in the graph. */
static void
join_graph(PyObject *tensor, PyObject *node, PyObject *number)
{
    slot_set(tensor, in_tensor.output_nr, number);
    slot_set(tensor, in_tensor.requires_grad, Py_True);
    slot_set(tensor, in_tensor.grad_fn, node);
}

/* ---- several results ---------------------------------------------------------------------------------------- */

typedef struct {
    PyObject *arrays[MOST_OUTPUTS], *tensors[MOST_OUTPUTS]; /* NULL where not made yet */
} Outputs;

static void
release_outputs(Outputs *outputs)
{
    for (int number = 0; number < MOST_OUTPUTS; number++) {
        Py_XDECREF(outputs->arrays[number]);
        Py_XDECREF(outputs->tensors[number]);
    }
}

static int
carries_gradient(const CallPlan *plan, int number)
{
    return !(plan->nondifferentiable >> number & 1);
}

/* The results as arrays: 1; 0 if one has another dtype, which may need another kind of node; -1 with an error set. */
static int
take_arrays(const CallPlan *plan, const Call *call, PyObject *results, Outputs *outputs)
{
    if (!(PyTuple_CheckExact(results) || PyList_CheckExact(results))
        || PySequence_Fast_GET_SIZE(results) != plan->output_count) {
        return 0;
    }
    for (int number = 0; number < plan->output_count; number++) {
        PyObject *array = as_plain_array(Py_NewRef(PySequence_Fast_GET_ITEM(results, number)));
        outputs->arrays[number] = array;
        if (array == NULL) {
            return -1;
        }
        if (!PyArray_CheckExact(array)
            || (carries_gradient(plan, number) && PyArray_DESCR(ARRAY(array)) != call->dtype)) {
            return 0;
        }
    }
    return 1;
}

/* The shapes or the dtypes of the results, as a node with several keeps them. */
static PyObject *
facts_of(const CallPlan *plan, const Outputs *outputs, int shapes)
{
    PyObject *facts = PyList_New(plan->output_count);
    for (int number = 0; facts != NULL && number < plan->output_count; number++) {
        PyObject *array = outputs->arrays[number];
        PyObject *fact = shapes ? shape_of(array) : Py_NewRef((PyObject *)PyArray_DESCR(ARRAY(array)));
        if (fact == NULL) {
            Py_CLEAR(facts);
            break;
        }
        PyList_SET_ITEM(facts, number, fact);
    }
    return facts;
}

static int
give_node(const Call *call, Outputs *outputs)
{
    const CallPlan *plan = call->plan;
    PyObject *node = new_node(plan, facts_of(plan, outputs, 1), facts_of(plan, outputs, 0));
    int failed = node == NULL || fill_node(call, node, outputs->arrays, outputs->tensors) < 0;
    for (int number = 0; !failed && number < plan->output_count; number++) {
        PyObject *tensor = outputs->tensors[number];
        PyObject *place = carries_gradient(plan, number)
                              ? PyLong_FromLong(number)
                              : cut_by(plan, SLOT(node, in_node.code), SLOT(node, in_node.lasti));
        if (place == NULL) {
            failed = 1;
        }
        else if (!carries_gradient(plan, number) && note_leaves(place, &node, 1) < 0) {
            failed = 1;
        }
        else if (carries_gradient(plan, number)) {
            join_graph(tensor, node, place);
        }
        else {
            slot_set(tensor, in_tensor.cut, place);
        }
        Py_XDECREF(place);
    }
    Py_XDECREF(node);
    return failed ? -1 : 0;
}

static int
give_cut(const Call *call, PyObject *const *tensors, Py_ssize_t count)
{
    PyObject *cut = cut_of(call);
    for (Py_ssize_t number = 0; cut != NULL && number < count; number++) {
        slot_set(tensors[number], in_tensor.cut, cut);
    }
    Py_XDECREF(cut);
    return cut == NULL ? -1 : 0;
}

/* The results together: a tuple, one with names, or what the op's own function makes of them. */
static PyObject *
package(const CallPlan *plan, PyObject *const *tensors)
{
    PyTypeObject *type = &PyTuple_Type;
    if (plan->returns != NULL) {
        if (!PyType_Check(plan->returns) || !PyType_IsSubtype((PyTypeObject *)plan->returns, &PyTuple_Type)) {
            return PyObject_Vectorcall(plan->returns, tensors, plan->output_count, NULL);
        }
        type = (PyTypeObject *)plan->returns;
    }
    PyObject *packed = plan->returns == NULL ? PyTuple_New(plan->output_count) : type->tp_alloc(type, plan->output_count);
    for (int number = 0; packed != NULL && number < plan->output_count; number++) {
        PyTuple_SET_ITEM(packed, number, Py_NewRef(tensors[number]));
    }
    return packed;
}

PyObject *
call_several(Call *call)
{
    const CallPlan *plan = call->plan;
    PyObject *results = plan->is_operator ? NULL : run_kernel(call), *packed = NULL;
    if (results == NULL) {
        return NULL;
    }
    Outputs outputs = {{NULL}, {NULL}};
    const int taken = take_arrays(plan, call, results, &outputs);
    int failed = taken < 0;
    for (int number = 0; taken > 0 && !failed && number < plan->output_count; number++) {
        outputs.tensors[number] = new_tensor(outputs.arrays[number]);
        failed = outputs.tensors[number] == NULL;
    }
    if (taken > 0 && !failed) {
        failed = (plan->has_rules && call->wanted && call->enabled ? give_node(call, &outputs)
                                                                   : give_cut(call, outputs.tensors, plan->output_count))
                 < 0;
    }
    if (!failed) {
        packed = taken ? package(plan, outputs.tensors) : call_dispatch(call);
    }
    release_outputs(&outputs);
    Py_DECREF(results);
    return packed;
}

/* ---- pieces ------------------------------------------------------------------------------------------------- */

static int
are_pieces(const Call *call, PyObject *results)
{
    if (!(PyTuple_CheckExact(results) || PyList_CheckExact(results))) {
        return 0;
    }
    for (Py_ssize_t number = 0; number < PySequence_Fast_GET_SIZE(results); number++) {
        PyObject *piece = PySequence_Fast_GET_ITEM(results, number);
        if (!PyArray_CheckExact(piece) || PyArray_DESCR(ARRAY(piece)) != call->dtype) {
            return 0;
        }
    }
    return 1;
}

static PyObject *
node_of_pieces(const Call *call, PyObject *results)
{
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(results);
    PyObject *shapes = PyList_New(count), *dtypes = PyList_New(count);
    for (Py_ssize_t number = 0; shapes != NULL && dtypes != NULL && number < count; number++) {
        PyObject *shape = shape_of(PySequence_Fast_GET_ITEM(results, number));
        if (shape == NULL) {
            Py_CLEAR(shapes);
            break;
        }
        PyList_SET_ITEM(shapes, number, shape);
        PyList_SET_ITEM(dtypes, number, Py_NewRef((PyObject *)call->dtype));
    }
    PyObject *node = new_node(call->plan, shapes, dtypes);
    if (node != NULL && fill_node(call, node, NULL, NULL) < 0) {
        Py_CLEAR(node);
    }
    return node;
}

/* One piece, which is a view; without a node it keeps where the path was cut. */
static PyObject *
new_piece(const Call *call, PyObject *array, Py_ssize_t number, PyObject *node, PyObject *cut, PyObject *options)
{
    PyObject *piece = new_tensor(array), *place = PyLong_FromSsize_t(number);
    if (piece != NULL && place != NULL) {
        if (node != NULL) {
            join_graph(piece, node, place);
        }
        else {
            slot_set(piece, in_tensor.cut, cut);
        }
    }
    if (piece == NULL || place == NULL || make_view(call, piece, place, Py_NewRef(options)) < 0) {
        Py_CLEAR(piece);
    }
    Py_XDECREF(place);
    return piece;
}

PyObject *
call_pieces(Call *call)
{
    const CallPlan *plan = call->plan;
    PyObject *results = run_kernel(call);
    if (results == NULL) {
        return NULL;
    }
    if (!are_pieces(call, results)) {
        Py_DECREF(results);
        return call_dispatch(call);
    }
    const int recorded = plan->has_rules && call->wanted && call->enabled;
    PyObject *node = recorded ? node_of_pieces(call, results) : NULL, *cut = recorded ? NULL : cut_of(call);
    PyObject *options = options_of(call), *pieces = NULL;
    if ((recorded ? node : cut) != NULL && options != NULL) {
        pieces = PyTuple_New(PySequence_Fast_GET_SIZE(results));
    }
    for (Py_ssize_t number = 0; pieces != NULL && number < PyTuple_GET_SIZE(pieces); number++) {
        PyObject *array = PySequence_Fast_GET_ITEM(results, number);
        PyObject *piece = new_piece(call, array, number, node, cut, options);
        if (piece == NULL) {
            Py_CLEAR(pieces);
            break;
        }
        PyTuple_SET_ITEM(pieces, number, piece);
    }
    Py_XDECREF(node);
    Py_XDECREF(cut);
    Py_XDECREF(options);
    Py_DECREF(results);
    return pieces;
}

/* ---- a list of tensors -------------------------------------------------------------------------------------- */

/* The arrays of the tensors in a list or tuple, as a list; NULL without an error set where one is unusual. */
static PyObject *
arrays_of_list(Call *call, PyObject *tensors)
{
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(tensors);
    PyObject *arrays = PyList_New(count);
    if (arrays == NULL) {
        return NULL;
    }
    call->wanted = 0;
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *tensor = PySequence_Fast_GET_ITEM(tensors, index);
        if (!is_tensor(tensor) || !is_usual_tensor(call, tensor)) {
            Py_DECREF(arrays);
            return NULL;
        }
        PyObject *array = SLOT(tensor, in_tensor.array);
        PyArray_Descr *dtype = PyArray_DESCR(ARRAY(array));
        PyList_SET_ITEM(arrays, index, Py_NewRef(array));
        if (index == 0) {
            call->dtype = dtype;
        }
        if (dtype != call->dtype || !(call->plan->any_dtype || dtype == objects.F32 || dtype == objects.F64)) {
            Py_DECREF(arrays);
            return NULL;
        }
        call->wanted |= SLOT(tensor, in_tensor.requires_grad) == Py_True;
    }
    return arrays;
}

static int
fill_list_edges(PyObject *node, PyObject *tensors)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(tensors);
    PyObject *edges = own_tuple(count), *numbers = PyTuple_New(count);
    int numbered = 0, failed = edges == NULL || numbers == NULL;
    for (Py_ssize_t index = 0; !failed && index < count; index++) {
        PyObject *tensor = PyTuple_GET_ITEM(tensors, index);
        const int needs = SLOT(tensor, in_tensor.requires_grad) == Py_True;
        PyObject *edge = needs ? edge_to(tensor) : Py_NewRef(Py_None);
        PyObject *number = edge == NULL || edge == Py_None ? objects.zero : SLOT(tensor, in_tensor.output_nr);
        failed = edge == NULL || note_cut(node, tensor) < 0;
        PyTuple_SET_ITEM(edges, index, edge);
        PyTuple_SET_ITEM(numbers, index, Py_NewRef(number));
        numbered |= number != objects.zero;
    }
    SLOT(node, in_node.edges) = edges;
    SLOT(node, in_node.edge_numbers) = numbered ? numbers : Py_NewRef(Py_None);
    if (!numbered) {
        Py_XDECREF(numbers);
    }
    return failed ? -1 : 0;
}

/* A fact of every array of the list, as a tuple. */
static PyObject *
facts_of_list(PyObject *arrays, Saves kind)
{
    PyObject *facts = PyTuple_New(PyList_GET_SIZE(arrays));
    for (Py_ssize_t index = 0; facts != NULL && index < PyTuple_GET_SIZE(facts); index++) {
        PyObject *fact = fact_of(PyList_GET_ITEM(arrays, index), kind);
        if (fact == NULL) {
            Py_CLEAR(facts);
            break;
        }
        PyTuple_SET_ITEM(facts, index, fact);
    }
    return facts;
}

static int
fill_list_saved(const Call *call, PyObject *node, PyObject *arrays, PyObject *result, PyObject *tensor)
{
    const CallPlan *plan = call->plan;
    PyObject *saved = own_tuple(plan->saved_length);
    if (saved == NULL) {
        return -1;
    }
    SLOT(node, in_node.saved) = saved;
    for (int index = 0, start = 0; index < plan->save_count; index++) {
        const Save *save = &plan->saves[index];
        if (save->kind == SAVES_OUTPUT) {
            if (save_output(saved, start, result, tensor) < 0) {
                return -1;
            }
            start += 3;
            continue;
        }
        PyObject *value = save->kind == SAVES_OPTION ? Py_NewRef(call->values[save->source])
                          : save->source < 0         ? fact_of(result, save->kind)
                                                     : facts_of_list(arrays, save->kind);
        if (value == NULL) {
            return -1;
        }
        PyTuple_SET_ITEM(saved, start++, value);
    }
    return 0;
}

static int
give_list_history(const Call *call, PyObject *tensors, PyObject *arrays, PyObject *result, PyObject *tensor)
{
    if (call->wanted && call->enabled) {
        PyObject *node = new_node(call->plan, shape_of(result), Py_NewRef((PyObject *)call->dtype));
        if (node == NULL || fill_list_edges(node, tensors) < 0
            || fill_list_saved(call, node, arrays, result, tensor) < 0) {
            Py_XDECREF(node);
            return -1;
        }
        join_graph(tensor, node, objects.zero);
        Py_DECREF(node);
        return 0;
    }
    if (call->wanted) {
        PyObject *cut = PyObject_GetAttr(objects.STATE, objects.name_cut);
        if (cut == NULL) {
            return -1;
        }
        Py_SETREF(SLOT(tensor, in_tensor.cut), cut);
        return 0;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(tensors); index++) {
        if (slot_given(PyTuple_GET_ITEM(tensors, index), in_tensor.cut)) {
            slot_set(tensor, in_tensor.cut, SLOT(PyTuple_GET_ITEM(tensors, index), in_tensor.cut));
            break;
        }
    }
    return 0;
}

/* The call with the tensors in a tuple of its own, which nobody changes meanwhile, and their arrays in a list. */
static PyObject *
call_joined(Call *call, PyObject *tensors, PyObject *arrays)
{
    call->arrays[0] = arrays;
    PyObject *result = as_plain_array(run_kernel(call));
    if (result == NULL) {
        return NULL;
    }
    PyObject *tensor = NULL;
    if (!PyArray_CheckExact(result) || PyArray_DESCR(ARRAY(result)) != call->dtype) {
        tensor = call_dispatch(call);
    }
    else {
        tensor = new_tensor(result);
        if (tensor != NULL && give_list_history(call, tensors, arrays, result, tensor) < 0) {
            Py_CLEAR(tensor);
        }
    }
    Py_DECREF(result);
    return tensor;
}

PyObject *
call_list(Call *call)
{
    PyObject *given = call->values[call->plan->tensor_places[0]];
    if (call->plan->is_operator || !(PyTuple_CheckExact(given) || PyList_CheckExact(given))
        || PySequence_Fast_GET_SIZE(given) == 0) {
        return NULL;
    }
    call->enabled = grad_is_enabled();
    PyObject *tensors = call->enabled < 0 ? NULL : PySequence_Tuple(given);
    if (tensors == NULL) {
        return NULL;
    }
    PyObject *result = NULL, *arrays = arrays_of_list(call, tensors);
    if (arrays != NULL) {
        result = call_joined(call, tensors, arrays);
        Py_DECREF(arrays);
    }
    Py_DECREF(tensors);
    return result;
}
