/* Loops over plain float arrays, built for several processors; the fastest usable build is chosen at import.
 *
 * Every build gives the same bits, and those of the NumPy expressions that the Python code has: each operation is
 * rounded on its own (no fused multiply-add), in the arrays' own precision, in the order in which Python does them.
 */
#ifndef RETROGRAD_ARITHMETIC_H
#define RETROGRAD_ARITHMETIC_H

#include <stddef.h>

/* What one optimizer step does to one parameter: arrays of one size, none of which overlaps another, and numbers. */
typedef struct {
    ptrdiff_t size;
    void *value;
    const void *gradient;
    void *state[3];  /* as the rule names them, see steps.c */
    int form;        /* which of the rule's forms: a sum of the constants below */
    double decay;    /* weight decay that joins the gradient */
    double shrink;   /* what decoupled weight decay multiplies the value with; 1 without */
    double rate;     /* learning rate, with its sign and corrections */
    double momentum;
    double undamped; /* SGD: what is left of the gradient beside the momentum; 1 without dampening */
    double weight;   /* how far an average moves towards the gradient: 1 - beta1 */
    double keep;     /* what is kept of the average of squares: beta2 */
    double join;     /* what joins it: 1 - beta2 */
    double epsilon;
    double divisor;  /* a bias correction that divides: 1 - beta ** step */
    double factor;   /* NAdam: of the average; RAdam: of the rectified step; Rprop: where the sign stays */
    double lowest, highest; /* Rprop: step sizes */
} StepWork;

enum {
    DECAYS = 1,                                   /* all rules */
    WITH_MOMENTUM = 2, NESTEROV = 4,              /* SGD */
    FAR = 2, AMSGRAD = 4,                         /* Adam and its kin; FAR: `weight` is at least a half */
    RECTIFIED = 4,                                /* RAdam, once its scale is reliable */
    AVERAGING = 2,                                /* ASGD, once the average is one */
    CENTERED = 2, BUFFERED = 4,                   /* RMSprop; BUFFERED: with momentum */
};

typedef void (*StepLoop)(const StepWork *work);

/* One build. The loops come in pairs: of float, of double. */
typedef struct {
    const char *name;
    StepLoop sgd[2], adam[2], rmsprop[2], adagrad[2], nadam[2], radam[2], adamax[2], adadelta[2], asgd[2], rprop[2];
    void (*scale[2])(void *values, ptrdiff_t size, double factor);
    void (*clamp[2])(void *values, ptrdiff_t size, double limit); /* to [-limit, limit]; nan stays */
} Arithmetic;

extern const Arithmetic *arithmetic; /* the build in use; NULL where C computes with more precision than the arrays */

extern const Arithmetic arithmetic_portable;

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define HAS_BUILDS_FOR_X86 1
extern const Arithmetic arithmetic_avx2, arithmetic_avx512;
#endif

#endif
