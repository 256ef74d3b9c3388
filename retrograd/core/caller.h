/* A call of an op: the plan that says what it takes and leaves behind, and the steps of a call. */
#ifndef RETROGRAD_CORE_CALLER_H
#define RETROGRAD_CORE_CALLER_H

#include "core.h"

/* Ops that take more go to their Python function; the largest have 9, 9, 7 and 4. */
#define MOST_PARAMETERS 12
#define MOST_SAVES 12
#define MOST_TENSORS 7
#define MOST_OUTPUTS 6
#define MOST_ALIASES 3

typedef enum { FORM_GENERAL, FORM_SINGLE, FORM_SEVERAL, FORM_LIST, FORM_PIECES } Form;

/* What a parameter may be. */
typedef enum { TAKES_OPTION, TAKES_ARRAY, TAKES_OPERAND, TAKES_OPTIONAL, TAKES_OPTIONAL_OPERAND, TAKES_LIST } Takes;

typedef enum { SAVES_OUTPUT, SAVES_INPUT, SAVES_OPTION, SAVES_SHAPE, SAVES_DTYPE, SAVES_STRIDES } Saves;

typedef struct {
    PyObject *name, *initial; /* interned; the default, NULL where a call must give it */
    Takes takes;
    int keyword_only;
} Parameter;

typedef struct {
    Saves kind;
    int source;       /* number of the output or tensor, place of the option; -1 in facts: the first output */
    unsigned readers; /* a bit for each edge whose rule reads it */
    int always;       /* saved whatever edges need a gradient */
} Save;

struct Call;

/* A kernel in C; NULL without an error set where a call is no case for it. */
typedef PyObject *(*ShortKernel)(const struct Call *call);

/* The C form of `op.plan` (ops.calling.plan), made at the first call. */
enum { LIES_TOGETHER = 1, LIES_IN_ROWS = 2 };

typedef struct {
    Form form;
    PyObject *op, *label, *xp, *kernel, *run, *returns; /* returns is NULL for a plain tuple */
    PyObject *kernel_keywords;                     /* the names of keyword-only parameters, or NULL */
    PyObject *check; /* looks at the arguments first, in calls in place: those of floats read numbers only; or NULL */
    PyObject *ufunc;                               /* the kernel is it: takes the operands only; or NULL */
    PyUFuncGenericFunction loops[2];               /* of a ufunc of one operand, for float32 and float64; or NULL */
    void *loop_data[2];
    ShortKernel short_kernel; /* or NULL */
    int is_operator; /* takes the operands by place; options have their defaults */
    int parameter_count, positional_count, tensor_count, edge_count, save_count, saved_length, option_count;
    int output_count, keyword_count;
    int is_view, loud, any_dtype, saves_input, has_rules, is_elementwise;
    int lies; /* how the result lies in memory: LIES_TOGETHER, LIES_IN_ROWS, or 0 */
    int nondifferentiable; /* a bit for each output */
    int lines_up; /* under `vmap`, examples of all operands are lined up; -1: not so; 0: not known yet */
    Parameter parameters[MOST_PARAMETERS];
    int alias_count;
    struct {
        PyObject *name;
        int place;
    } aliases[MOST_ALIASES]; /* other names of parameters (axis, keepdims); place -1: `out`, which Python handles */
    int positional_places[MOST_PARAMETERS]; /* the parameter that an argument by place is for */
    int tensor_places[MOST_TENSORS], alike[MOST_TENSORS];
    int option_places[MOST_PARAMETERS];
    int edges[MOST_TENSORS]; /* indexes of tensors */
    Save saves[MOST_SAVES];
} CallPlan;

/* One call. Values are borrowed; the arrays are held, since another thread may replace those of the tensors. */
typedef struct Call {
    const CallPlan *plan;
    PyObject *values[MOST_PARAMETERS]; /* by parameter */
    PyObject *arrays[MOST_TENSORS];    /* of the tensors; a number or None stands for itself */
    int needs[MOST_TENSORS];           /* whether they require grad */
    PyArray_Descr *dtype;
    int is_dual;       /* the result may need a tangent */
    int wanted;        /* an operand with a rule requires grad; of an op without rules: any operand */
    int enabled;       /* gradients are on */
    int has_options;   /* of a ufunc: an option is not its default, so that only a short kernel may run */
    int kernel_failed; /* the error that is set is the kernel's: Python knows how to explain it */
} Call;

/* plan.c: the C form of what `ops.compiled.specification` says of an op. The parts of `plan` are NULL or filled in any case,
 * so that `clear_plan` may follow. */
int read_plan(CallPlan *plan, PyObject *description);
void clear_plan(CallPlan *plan);
int visit_plan(const CallPlan *plan, visitproc visit, void *argument);

/* operands.c: 1 if the call may go the usual way; then its arrays are held until `release_operands`. 0: it is
 * Python's; -1 with an error set. */
int bind_arguments(Call *call, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords);
int read_operands(Call *call);
int is_usual_tensor(const Call *call, PyObject *tensor);
int is_usual_view(const Call *call, PyObject *tensor, PyObject *view, PyObject *cell);
int is_usual_dtype(const Call *call, int index, PyArray_Descr *dtype);
int is_usual_stranger(Takes takes, PyObject *value);
void release_operands(Call *call);

/* kernel.c: the result of the op's kernel; NULL with an error set, or without one where the call is Python's. */
void choose_kernel(CallPlan *plan);
void find_loops(CallPlan *plan); /* those of its ufunc, where they were seen to give the same bits */
PyObject *run_kernel(Call *call);
PyObject *run_ufunc_into(Call *call, PyObject *target);
int run_check(Call *call);
PyObject *as_plain_array(PyObject *result); /* takes the reference, gives one */
PyObject *quiet_begin(void); /* NumPy's warnings are off until `quiet_end`, which takes this; NULL with an error set */
int quiet_end(PyObject *token); /* an error that is set stays */

/* short_kernels.c: a number that is finite in a dtype, and its value; then the kernel of an op whose parameters have these names, joined by commas; NULL: there is none. */
PyObject *view_from(PyArrayObject *array, char *start, int ndim, const npy_intp *shape, const npy_intp *strides);
int fits_dtype(PyObject *number, const PyArray_Descr *dtype, double *value);
ShortKernel find_short_kernel(PyObject *op, PyObject *parameters);

/* short_arithmetic.c, short_choices.c, short_moves.c, short_sums.c, short_rows.c: some of them. */
PyObject *short_clamp(const Call *call);
PyObject *short_pow(const Call *call);
PyObject *short_choose(const Call *call);
PyObject *short_sigmoid(const Call *call);
PyObject *short_nll_loss(const Call *call);
PyObject *short_transpose(const Call *call);
PyObject *short_permute(const Call *call);
PyObject *short_expand(const Call *call);
PyObject *short_cat(const Call *call);
PyObject *short_stack(const Call *call);
PyObject *short_index(const Call *call);
PyObject *short_index_select(const Call *call);
PyObject *short_embedding(const Call *call);
PyObject *short_sum(const Call *call);
PyObject *short_mean(const Call *call);
PyObject *short_var(const Call *call);
PyObject *short_std(const Call *call);
PyObject *short_add(const Call *call);
PyObject *short_sub(const Call *call);
PyObject *short_rsub_number(const Call *call);
PyObject *short_mul(const Call *call);
PyObject *short_div(const Call *call);
PyObject *short_maximum(const Call *call);
PyObject *short_minimum(const Call *call);
PyObject *short_neg(const Call *call);
PyObject *short_softmax(const Call *call);
PyObject *short_log_softmax(const Call *call);
PyObject *short_logsumexp(const Call *call);
PyObject *short_amax(const Call *call);
PyObject *short_amin(const Call *call);
PyObject *short_softplus(const Call *call);
PyObject *short_gather(const Call *call);

/* record.c: nodes, edges, cuts, views. References given are new, unless it says otherwise. */
PyObject *edge_to(PyObject *tensor); /* None: no gradient flows there */
PyObject *new_node(const CallPlan *plan, PyObject *shape, PyObject *dtype); /* takes both references */
int fill_node(const Call *call, PyObject *node, PyObject *const *results, PyObject *const *tensors);
PyObject *cut_of(const Call *call);

/* Notes on a node where the path to an operand was cut, if it was; -1 with an error set. */
static inline int
note_cut(PyObject *node, PyObject *operand)
{
    return is_tensor(operand) && slot_given(operand, in_tensor.cut) ? add_cut(node, SLOT(operand, in_tensor.cut)) : 0;
}

PyObject *cut_by(const CallPlan *plan, PyObject *code, PyObject *instruction); /* an op without a derivative */
PyObject *fact_of(PyObject *array, Saves kind); /* None for a number in its place */
int save_output(PyObject *saved, int start, PyObject *result, PyObject *tensor);
PyObject *options_of(const Call *call);
int make_view(const Call *call, PyObject *view, PyObject *number, PyObject *options);

/* The call itself, after its arguments were read; NULL without an error set where it turns out to be Python's. */
PyObject *call_single(Call *call);                       /* single.c */
PyObject *call_several(Call *call);                      /* many.c */
PyObject *call_pieces(Call *call);
PyObject *call_list(Call *call);                         /* reads its operands itself */
PyObject *call_in_place(Call *call, PyObject *writer);   /* inplace.c */

/* dual.c: whether a call may be one under the only dual level; gives its result the tangent, takes the reference. */
int is_dual_call(const CallPlan *plan);
PyObject *with_tangent(const Call *call, PyObject *tensor);

/* batched.c: whether a call may be one under the only `vmap`; its result, NULL without an error set where it is Python's;
 * the tensor whose version cell is that of a value, borrowed: NULL where it is no tensor of the library's own classes. */
int is_batched_call(const CallPlan *plan);
PyObject *call_batched(Call *call);
PyObject *owner_of_cell(PyObject *value);

/* inplace.c: writes an array of the same shape into a target; counts a write to a tensor, at the user's line. */
int write_array(PyObject *target, PyObject *source);
int count_write_here(PyObject *target, PyObject *writer);

/* writes.c: whether a tensor may be written, and that leaves no node: 1 or 0; -1 with an error set. */
int is_plain_target(PyObject *tensor);

/* caller.c: the general path, for a call whose kernel has run and gave something unusual. */
PyObject *call_dispatch(const Call *call);

extern const Part short_choices_part, short_arithmetic_part, short_sums_part;
extern const Part batched_part, dual_part, caller_part, kernel_part, record_part, short_kernels_part, short_rows_part,
    composites_part;

#endif
