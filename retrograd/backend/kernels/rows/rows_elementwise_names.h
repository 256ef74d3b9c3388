/* Written by `python -m retrograd.replay.elementwise_loops` from the kernels of the ops. */
#define ELEMENTWISE_LOOPS(X)     \
    X(relu, "r")                 \
    X(leaky_relu, "rn")          \
    X(limited, "rnn")            \
    X(not_below, "nr")           \
    X(not_above, "nr")           \
    X(limited_gradient, "rrnn")  \
    X(hardswish, "r")            \
    X(hardsigmoid, "r")          \
    X(chosen, "trr")             \
    X(chosen_or_number, "trn")   \
    X(number_or_chosen, "tnr")   \
    X(squared_error, "rr")
