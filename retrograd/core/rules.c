/* The rules of the common ops on arrays, compiled.
 *
 * Each is the rule of the op's declaration, step by step, for float32 and float64 arrays that lie alike in memory,
 * with the same results bit for bit: only additions, products and the like are computed here, which IEEE 754 rounds
 * exactly; the functions that NumPy approximates are NumPy's. For every other case a rule declines, and the Python
 * rule runs. Tests compare the two on the samples of every op here.
 */
#include "rules.h"

/* From so many elements on, a loop lets other threads run. */
#define LONG_LOOP 65536

static PyObject *raw; /* the namespace that rules on arrays compute with */
RawFunctions raw_functions;
/* ---- loops -------------------------------------------------------------------------------------------------- */

/* A loop over the gradient `g` and up to two saved values `a` and `b`; `c` is a number in the arrays' type. */
#define LOOP(name, reads_first, reads_second, expression)                                                            \
    FOR_EACH_PROCESSOR static void name##_float32(const void *gradient, const void *first, const void *second,       \
                                                  double number, void *result, npy_intp count)                      \
    {                                                                                                                \
        const npy_float32 *G = gradient, *A = first, *B = second;                                                    \
        const npy_float32 c = (npy_float32)number;                                                                   \
        npy_float32 *R = result;                                                                          \
        (void)A, (void)B, (void)c;                                                                                   \
        EACH_ALONE                                                                                                   \
        for (npy_intp i = 0; i < count; i++) {                                                                       \
            const npy_float32 g = G[i], a = reads_first ? A[i] : 0, b = reads_second ? B[i] : 0;                     \
            (void)g, (void)a, (void)b;                                                                               \
            R[i] = expression;                                                                                       \
        }                                                                                                            \
    }                                                                                                                \
    FOR_EACH_PROCESSOR static void name##_float64(const void *gradient, const void *first, const void *second,       \
                                                  double number, void *result, npy_intp count)                      \
    {                                                                                                                \
        const npy_float64 *G = gradient, *A = first, *B = second;                                                    \
        const npy_float64 c = number;                                                                                \
        npy_float64 *R = result;                                                                          \
        (void)A, (void)B, (void)c;                                                                                   \
        EACH_ALONE                                                                                                   \
        for (npy_intp i = 0; i < count; i++) {                                                                       \
            const npy_float64 g = G[i], a = reads_first ? A[i] : 0, b = reads_second ? B[i] : 0;                     \
            (void)g, (void)a, (void)b;                                                                               \
            R[i] = expression;                                                                                       \
        }                                                                                                            \
    }                                                                                                                \
    static const Loop name##_loops[2] = {name##_float32, name##_float64};

LOOP(times, 1, 0, g *a)
LOOP(times_number, 0, 0, g *c)
LOOP(over, 1, 0, g / a)
LOOP(negated, 0, 0, -g)
LOOP(tanh_rule, 1, 0, (1 - a * a) * g)
LOOP(sigmoid_rule, 1, 0, ((1 - a) * a) * g)
LOOP(relu_rule, 1, 0, a != 0 ? g : 0)
LOOP(leaky_rule, 1, 0, a > 0 ? g : g *c)
LOOP(sqrt_rule, 1, 0, g / (a * 2))
LOOP(abs_rule, 1, 0, g *(a > 0 ? 1 : a < 0 ? -1 : 0))
LOOP(reciprocal_rule, 1, 0, -g *(a *a))
LOOP(cube_rule, 1, 0, g *(a *a *c))
LOOP(negative_product, 1, 0, g *-a)
LOOP(at_least, 1, 0, a >= c ? g : 0)
LOOP(at_most, 1, 0, a <= c ? g : 0)
LOOP(divisor_rule, 1, 1, -g *(a / b / b))
LOOP(scaled_product, 1, 0, g *(a *c))
LOOP(difference_scaled, 1, 0, (g - a) * c) /* of two saved values: there is no gradient in it */

/* A loop over the gradient and a mask of bools as the first value: the gradient where it has `kept`, else zero. All bits of
 * an element or none: a branch that nobody can foretell takes as long as twenty elements. */
#define MASK_LOOP(name, kept, type, bits)                                                                            \
    FOR_EACH_PROCESSOR static void name##_##type(const void *gradient, const void *mask, const void *Py_UNUSED(second), \
                                                 double Py_UNUSED(number), void *result, npy_intp count)              \
    {                                                                                                                \
        const bits *G = gradient;                                                                                    \
        const npy_bool *M = mask;                                                                                    \
        bits *R = result;                                                                                            \
        EACH_ALONE                                                                                                   \
        for (npy_intp i = 0; i < count; i++) {                                                                       \
            R[i] = G[i] & (bits)-(bits)((M[i] != 0) == kept);                                                        \
        }                                                                                                            \
    }

MASK_LOOP(masked_out, 0, float32, npy_uint32)
MASK_LOOP(masked_out, 0, float64, npy_uint64)
MASK_LOOP(masked_in, 1, float32, npy_uint32)
MASK_LOOP(masked_in, 1, float64, npy_uint64)

static const Loop masked_loops[2][2] = {{masked_out_float32, masked_out_float64}, {masked_in_float32, masked_in_float64}};

typedef struct {
    Loop loop;
    const char *gradient, *first, *second;
    double number;
    char *result;
    npy_intp item, first_item; /* bytes of an element: the first value may be a mask */
} LoopWork;

static void
do_loop(void *context, npy_intp start, npy_intp stop)
{
    const LoopWork *work = context;
    const npy_intp skip = start * work->item;
    work->loop(work->gradient + skip, work->first == NULL ? NULL : work->first + start * work->first_item,
               work->second == NULL ? NULL : work->second + skip, work->number, work->result + skip, stop - start);
}

/* An array filled by a loop, now or later: that of the gradient itself where it is spare, not yet given on, and not needed
 * after this (`is_last`), else a new one. All arrays are alike,
 * but the first value may be a mask. */
static PyObject *
computed(const Loop *loops, PyObject *gradient, PyObject *first, PyObject *second, double number, const Results *results,
         int is_last)
{
    if (results->chain != NULL) {
        const Operands operands = {gradient, first, second, number};
        const int takes = chain_takes(results->chain, &operands);
        if (takes != 0) {
            return takes < 0 ? NULL : chain_step(results->chain, loops, &operands);
        }
    }
    const int in_place = is_last && results->spare && Py_REFCNT(gradient) == 1;
    PyObject *result = in_place ? Py_NewRef(gradient) : new_array_like(gradient);
    if (result == NULL) {
        return NULL;
    }
    const npy_intp count = PyArray_SIZE(ARRAY(gradient));
    LoopWork work = {.loop = loops[is_float64(gradient)], .gradient = PyArray_DATA(ARRAY(gradient)), .number = number,
                     .first = first == NULL ? NULL : PyArray_DATA(ARRAY(first)),
                     .first_item = first == NULL ? 0 : PyArray_ITEMSIZE(ARRAY(first)),
                     .second = second == NULL ? NULL : PyArray_DATA(ARRAY(second)),
                     .result = PyArray_DATA(ARRAY(result)), .item = PyArray_ITEMSIZE(ARRAY(gradient))};
    PyThreadState *released = count >= LONG_LOOP ? PyEval_SaveThread() : NULL;
    in_threads(shared_threads, do_loop, &work, count, THREAD_GRAIN);
    if (released != NULL) {
        PyEval_RestoreThread(released);
    }
    return result;
}

/* ---- arithmetic, by a loop here or by the function that Python rules call ------------------------------------ */

static PyObject *
multiplied(PyObject *left, PyObject *right, const Results *results, int is_last)
{
    double number;
    if (is_plain(left)) {
        if (are_alike(left, right)) {
            return computed(times_loops, left, right, NULL, 0, results, is_last);
        }
        if (as_number(right, &number)) {
            return computed(times_number_loops, left, NULL, NULL, number, results, is_last);
        }
    }
    return chain_settle(results->chain) < 0 ? NULL : call_two(raw_functions.mul, left, right);
}

static PyObject *
divided(PyObject *left, PyObject *right, const Results *results, int is_last)
{
    if (are_alike(left, right)) {
        return computed(over_loops, left, right, NULL, 0, results, is_last);
    }
    return chain_settle(results->chain) < 0 ? NULL : call_two(raw_functions.div, left, right);
}

static PyObject *
negative_of(PyObject *array, const Results *results)
{
    if (is_plain(array)) {
        return computed(negated_loops, array, NULL, NULL, 0, results, 1);
    }
    return chain_settle(results->chain) < 0 ? NULL : PyObject_CallOneArg(raw_functions.neg, array);
}
/* ---- elementwise -------------------------------------------------------------------------------------------- */

RULE(rule_mul)
{
    /* saved: other, input */
    for (int index = 0; index < 2; index++) {
        if (WANTS(index) && give(results, index, multiplied(g, saved[index], results, index == 1 || !WANTS(1))) < 0) {
            return -1;
        }
    }
    return 1;
}

RULE(rule_add)
{
    if (!is_one(saved[0])) {
        return 0;
    }
    for (int index = 0; index < 2; index++) {
        if (WANTS(index)) {
            give(results, index, Py_NewRef(g));
        }
    }
    return 1;
}

RULE(rule_sub)
{
    if (!is_one(saved[0])) {
        return 0;
    }
    if (WANTS(0)) {
        give(results, 0, Py_NewRef(g));
    }
    return WANTS(1) ? give(results, 1, negative_of(g, results)) : 1;
}

RULE(rule_rsub)
{
    if (!is_one(saved[0])) {
        return 0;
    }
    if (WANTS(1)) {
        give(results, 1, Py_NewRef(g));
    }
    return WANTS(0) ? give(results, 0, negative_of(g, results)) : 1;
}

RULE(rule_div)
{
    /* saved: other, input */
    if (WANTS(1) && !(are_alike(g, saved[0]) && are_alike(g, saved[1]))) {
        return 0;
    }
    if (WANTS(0) && give(results, 0, divided(g, saved[0], results, !WANTS(1))) < 0) {
        return -1;
    }
    return WANTS(1) ? give(results, 1, computed(divisor_rule_loops, g, saved[1], saved[0], 0, results, 1)) : 1;
}

RULE(rule_neg)
{
    UNUSED_SAVED, UNUSED_WANTED;
    return give(results, 0, negative_of(g, results));
}

RULE(rule_same)
{
    UNUSED_SAVED, UNUSED_WANTED;
    return give(results, 0, Py_NewRef(g));
}

/* Rules of one saved value that lies as the gradient does. */
#define RULE_OF_ONE(name, loops)                                       \
    RULE(name)                                                         \
    {                                                                  \
        UNUSED_WANTED;                                                 \
        if (!are_alike(g, saved[0])) {                                 \
            return 0;                                                  \
        }                                                              \
        return give(results, 0, computed(loops, g, saved[0], NULL, 0, results, 1)); \
    }

RULE_OF_ONE(rule_tanh, tanh_rule_loops)
RULE_OF_ONE(rule_sigmoid, sigmoid_rule_loops)
RULE_OF_ONE(rule_relu, relu_rule_loops)
RULE_OF_ONE(rule_exp, times_loops)
RULE_OF_ONE(rule_log, over_loops)
RULE_OF_ONE(rule_sqrt, sqrt_rule_loops)
RULE_OF_ONE(rule_abs, abs_rule_loops)
RULE_OF_ONE(rule_reciprocal, reciprocal_rule_loops)

/* The gradient times a function of the saved value that NumPy computes. */
static int
times_function(PyObject *g, PyObject *value, PyObject *function, const Loop *loops, Results *results)
{
    if (!are_alike(g, value)) {
        return 0;
    }
    PyObject *slope = PyObject_CallOneArg(function, value);
    if (slope == NULL) {
        return -1;
    }
    const int fits = are_alike(g, slope);
    PyObject *made = fits ? computed(loops, g, slope, NULL, 0, results, 1) : NULL;
    Py_DECREF(slope);
    return fits ? give(results, 0, made) : 0;
}

RULE(rule_sin)
{
    UNUSED_WANTED;
    return times_function(g, saved[0], raw_functions.cos, times_loops, results);
}

RULE(rule_cos)
{
    UNUSED_WANTED;
    return times_function(g, saved[0], raw_functions.sin, negative_product_loops, results);
}

RULE(rule_leaky_relu)
{
    UNUSED_WANTED;
    double slope;
    if (!are_alike(g, saved[0]) || !as_number(saved[1], &slope)) {
        return 0;
    }
    return give(results, 0, computed(leaky_rule_loops, g, saved[0], NULL, slope, results, 1));
}

/* The gradient where the input was within the limits, of which one may be missing. */
RULE(rule_clamp)
{
    UNUSED_WANTED;
    double lowest = 0, highest = 0;
    PyObject *input = saved[0];
    if (!are_alike(g, input) || (saved[1] != Py_None && !as_number(saved[1], &lowest))
        || (saved[2] != Py_None && !as_number(saved[2], &highest))) {
        return 0;
    }
    PyObject *part = saved[1] == Py_None ? Py_NewRef(g) : computed(at_least_loops, g, input, NULL, lowest, results, 1);
    if (part != NULL && saved[2] != Py_None) {
        Py_SETREF(part, computed(at_most_loops, part, input, NULL, highest, results, 1));
    }
    return give(results, 0, part);
}

typedef struct {
    PyObject *gradient, *mask, *result;
    Loop loop;
} MaskWork;

/* From one element to another; the mask repeats itself along the gradient's first dimensions. */
static void
do_masked(void *context, npy_intp start, npy_intp stop)
{
    const MaskWork *work = context;
    const npy_intp period = PyArray_SIZE(ARRAY(work->mask)), item = PyArray_ITEMSIZE(ARRAY(work->gradient));
    for (npy_intp at = start, run; at < stop; at += run) {
        run = period - at % period < stop - at ? period - at % period : stop - at;
        work->loop(PyArray_BYTES(ARRAY(work->gradient)) + at * item, (npy_bool *)PyArray_DATA(ARRAY(work->mask)) + at % period,
                   NULL, 0, PyArray_BYTES(ARRAY(work->result)) + at * item, run);
    }
}

/* The gradient where a mask has `kept`, zero elsewhere. */
static PyObject *
masked(PyObject *g, PyObject *mask, int kept, const Results *results, int is_last)
{
    const npy_intp count = PyArray_SIZE(ARRAY(g));
    if (count == PyArray_SIZE(ARRAY(mask))) {
        return computed(masked_loops[kept], g, mask, NULL, 0, results, is_last);
    }
    PyObject *made = chain_settle(results->chain) < 0 ? NULL : new_array_like(g);
    if (made != NULL) {
        MaskWork work = {g, mask, made, masked_loops[kept][is_float64(g)]};
        PyThreadState *released = count >= LONG_LOOP ? PyEval_SaveThread() : NULL;
        in_threads(shared_threads, do_masked, &work, count, THREAD_GRAIN);
        if (released != NULL) {
            PyEval_RestoreThread(released);
        }
    }
    return made;
}

/* Whether a mask's shape is the last part of the gradient's, both row by row and not empty. */
static int
is_mask_of(PyObject *g, PyObject *mask)
{
    if (!is_by_rows(g) || !PyArray_CheckExact(mask) || PyArray_DESCR(ARRAY(mask)) != objects.B8
        || !PyArray_IS_C_CONTIGUOUS(ARRAY(mask)) || PyArray_SIZE(ARRAY(g)) == 0) {
        return 0;
    }
    const int own = PyArray_NDIM(ARRAY(mask)), lead = PyArray_NDIM(ARRAY(g)) - own;
    return lead >= 0 && PyArray_CompareLists(PyArray_DIMS(ARRAY(g)) + lead, PyArray_DIMS(ARRAY(mask)), own);
}

RULE(rule_choose)
{
    if (!is_mask_of(g, saved[0])) {
        return 0;
    }
    if (WANTS(0) && give(results, 0, masked(g, saved[0], 1, results, !WANTS(1))) < 0) {
        return -1;
    }
    return WANTS(1) ? give(results, 1, masked(g, saved[0], 0, results, 1)) : 1;
}

RULE(rule_masked_fill)
{
    UNUSED_WANTED;
    return is_mask_of(g, saved[0]) ? give(results, 0, masked(g, saved[0], 0, results, 1)) : 0;
}

RULE(rule_addcmul)
{
    /* saved: tensor2, value, tensor1 */
    double value;
    if (!as_number(saved[1], &value) || (WANTS(1) && !are_alike(g, saved[0])) || (WANTS(2) && !are_alike(g, saved[2]))) {
        return 0;
    }
    if (WANTS(0)) {
        give(results, 0, Py_NewRef(g));
    }
    if (WANTS(1) && give(results, 1, computed(scaled_product_loops, g, saved[0], NULL, value, results, !WANTS(2))) < 0) {
        return -1;
    }
    return WANTS(2) ? give(results, 2, computed(scaled_product_loops, g, saved[2], NULL, value, results, 1)) : 1;
}

/* pow with a number: saved input, exponent. The slope is the input to the power of one less, times the exponent. */
RULE(rule_pow)
{
    UNUSED_WANTED;
    double exponent;
    if (!as_number(saved[1], &exponent) || exponent == 0 || !are_alike(g, saved[0])) {
        return 0;
    }
    if (exponent == 2 || exponent == 3) {
        return give(results, 0, computed(exponent == 2 ? scaled_product_loops : cube_rule_loops, g, saved[0], NULL, exponent, results, 1));
    }
    PyObject *less = PyNumber_Subtract(saved[1], objects.one);
    PyObject *power = less == NULL ? NULL : call_two(raw_functions.pow, saved[0], less);
    Py_XDECREF(less);
    if (power == NULL) {
        return -1;
    }
    const int fits = are_alike(g, power);
    PyObject *made = fits ? computed(scaled_product_loops, g, power, NULL, exponent, results, 1) : NULL;
    Py_DECREF(power);
    return fits ? give(results, 0, made) : 0;
}

#define REDUCTION_NONE 0
#define REDUCTION_MEAN 1

RULE(rule_mse_loss)
{
    /* saved: input, target, reduction */
    PyObject *input = saved[0], *target = saved[1];
    if (!PyLong_CheckExact(saved[2]) || !is_plain(g) || PyArray_NDIM(ARRAY(g)) != 0 || !are_alike(input, target)
        || PyArray_DESCR(ARRAY(g)) != PyArray_DESCR(ARRAY(input))) {
        return 0;
    }
    const long reduction = PyLong_AsLong(saved[2]);
    if (reduction == REDUCTION_NONE) {
        return 0;
    }
    const void *data = PyArray_DATA(ARRAY(g));
    double factor = 2 * (is_float64(g) ? *(const npy_float64 *)data : (double)*(const npy_float32 *)data);
    const npy_intp size = PyArray_SIZE(ARRAY(input));
    if (reduction == REDUCTION_MEAN && size > 0) {
        factor /= (double)size;
    }
    if (WANTS(0) && give(results, 0, computed(difference_scaled_loops, input, target, NULL, factor, results, 0)) < 0) {
        return -1;
    }
    return WANTS(1) ? give(results, 1, computed(difference_scaled_loops, target, input, NULL, factor, results, 0)) : 1;
}
/* ---- the table ---------------------------------------------------------------------------------------------- */

static const NamedRule element_rules[] = {
    {"mul", "other,input", rule_mul, CHAINS},
    {"dot", "tensor,input", rule_mul, CHAINS},
    {"add", "alpha", rule_add, CHAINS},
    {"sub", "alpha", rule_sub, CHAINS},
    {"rsub", "alpha", rule_rsub, CHAINS},
    {"div", "other,input", rule_div, CHAINS},
    {"neg", "", rule_neg, CHAINS},
    {"clone", "", rule_same, CHAINS},
    {"_clone_as", "order", rule_same, CHAINS},
    {"_contiguous_copy", "", rule_same, CHAINS},
    {"alias", "", rule_same, CHAINS},
    {"tanh", "out", rule_tanh, CHAINS},
    {"sigmoid", "out", rule_sigmoid, CHAINS},
    {"relu", "out", rule_relu, CHAINS},
    {"exp", "out", rule_exp, CHAINS},
    {"log", "input", rule_log, CHAINS},
    {"sqrt", "out", rule_sqrt, CHAINS},
    {"abs", "input", rule_abs, CHAINS},
    {"reciprocal", "out", rule_reciprocal, CHAINS},
    {"sin", "input", rule_sin, CHAINS},
    {"cos", "input", rule_cos, CHAINS},
    {"leaky_relu", "input,negative_slope", rule_leaky_relu, CHAINS},
    {"clamp", "input,min,max", rule_clamp, CHAINS},
    {"_choose", "condition", rule_choose, CHAINS},
    {"masked_fill", "mask", rule_masked_fill, CHAINS},
    {"addcmul", "tensor2,value,tensor1", rule_addcmul, CHAINS},
    {"_pow_number", "input,exponent", rule_pow, CHAINS},
    {"mse_loss", "input,target,reduction", rule_mse_loss, CHAINS},
    {NULL, NULL, NULL, 0},
};

const NamedRule *
find_compiled_rule(const char *op, const char *saved_names)
{
    const NamedRule *const tables[] = {element_rules, shape_rules, row_rules, product_rules};
    for (size_t table = 0; table < sizeof tables / sizeof *tables; table++) {
        for (const NamedRule *rule = tables[table]; rule->op != NULL; rule++) {
            if (strcmp(rule->op, op) == 0 && strcmp(rule->saved_names, saved_names) == 0) {
                return rule;
            }
        }
    }
    return NULL;
}

static const Wanted rules_wanted[] = {
    {"RAW", &raw},
    {"rows_product", &raw_functions.product},
    {NULL, NULL},
};

static int
rules_start(void)
{
    const struct {
        PyObject **place;
        const char *name;
    } functions[] = {
        {&raw_functions.mul, "mul"}, {&raw_functions.div, "div"}, {&raw_functions.neg, "neg"},
        {&raw_functions.mm, "mm"},   {&raw_functions.exp, "exp"}, {&raw_functions.sin, "sin"},
        {&raw_functions.cos, "cos"}, {&raw_functions.pow, "pow"}, {&raw_functions.sum_to_size, "sum_to_size"},
    };
    for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
        Py_XSETREF(*functions[index].place, PyObject_GetAttrString(raw, functions[index].name));
        if (*functions[index].place == NULL) {
            return -1;
        }
    }
    return 0;
}

const Part rules_part = {.wanted = rules_wanted, .start = rules_start};
