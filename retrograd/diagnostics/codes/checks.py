"""Codes RG613 to RG618: strict mode, gradcheck, checkpoints, saved-tensor hooks, edges."""

from __future__ import annotations

from .entry import Entry, Form

_KEEP = (
    "check the way from input to output for detach(), .item(), .data, torch.tensor(...) and "
    "no_grad()"
)
_CONSTANT = "if the derivative may be zero, pass strict=False: it is then filled with zeros"

CHECKS: tuple[Entry, ...] = (
    Entry(
        "RG613",
        "strict-independent",
        "an output does not depend on an input, and strict=True was asked for",
        (
            Form(
                r"Output (?P<output>\d+) of the user-provided function is independent of input "
                r"(?P<index>\d+)",
                "output {output} of the function does not depend on input {index}",
                "Its derivative is zero everywhere. strict=True asks for an error in this case, "
                "because a path that was cut by mistake looks the same.",
                (_KEEP, _CONSTANT),
                "first",
            ),
            Form(
                r"The output of the user-provided function is independent of input (?P<index>\d+)",
                "the output of the function does not depend on input {index}",
                "Its derivative is zero everywhere. strict=True asks for an error in this case, "
                "because a path that was cut by mistake looks the same.",
                (_KEEP, _CONSTANT),
                "first",
            ),
            Form(
                r"Output (?P<index>\d+) of the user-provided function does not require gradients",
                "output {index} of the function has no history",
                "Nothing that leads to it was recorded, so no derivative can be told from zero.",
                (_KEEP, _CONSTANT),
                "first",
            ),
            Form(
                r"jvp\(f, primals, tangents, strict=True\): The output of f is independent",
                "an output of the function has no tangent",
                "It does not depend on the primals, or the path was cut.",
                (_KEEP, _CONSTANT),
                "first",
            ),
            Form(
                r"(The (jacobian|hessian) of the user-provided function|While computing the "
                r"hessian, found that the jacobian|The gradient with respect to (the )?input)",
                "a derivative of the function does not depend on its inputs",
                "The derivative is constant, as that of a linear function is, so its own "
                "derivative is zero everywhere; strict=True asks for an error then. The products "
                "jvp and hvp of torch.autograd.functional differentiate once more inside.",
                (
                    "if the function is linear in this input, pass strict=False",
                    "otherwise look for operations whose derivative is constant: relu, abs, "
                    "piecewise linear functions",
                ),
                "second",
            ),
            Form(
                r"torch\.autograd\.functional\.jacobian: `strict=True` and",
                "strict=True was combined with an option that cannot tell independent outputs",
                "Batches of directions and forward mode give zeros where nothing is connected.",
                ('use vectorize=False and strategy="reverse-mode" with strict=True',),
                "combination",
            ),
        ),
        ("first", "second", "combination"),
    ),
    Entry(
        "RG614",
        "gradcheck-failed",
        "gradcheck found a derivative that is wrong, or not always the same",
        (
            Form(
                r"(While considering the (?P<part>\w+) part of complex \w+ only, )?Jacobian "
                r"(?P<mode>computed with forward mode )?mismatch for output (?P<output>\d+) with "
                r"respect to input (?P<index>\d+)",
                "the derivative of output {output} by input {index} differs from finite "
                "differences",
                "The numerical side moves every element by a little and looks; the analytical side "
                "is what autograd computes. Usually the formula is wrong, but the numerical side "
                "is wrong near a kink, in single precision, and for a function that is not "
                "deterministic.",
                (
                    "compare the two tables in the message: a common factor, a transposed order "
                    "or zeros in one of them point to the mistake",
                    "use inputs in float64, made by torch.rand(...) away from kinks and poles "
                    "such as relu at 0 or sqrt at 0",
                    "check that the function is the same at every call: eval(), no dropout, no "
                    "state of its own, no write to its inputs",
                ),
                "mismatch",
            ),
            Form(
                r"Numerical gradient for function expected to be zero",
                "an output changes with the inputs, and autograd says that it does not",
                "The output has no history, so its derivative counts as zero.",
                (_KEEP, "an output of whole numbers should not change at all by a small step"),
                "mismatch",
            ),
            Form(
                r"Backward is not reentrant, i\.e\., running backward with same input and "
                r"grad_output multiple times gives different values",
                "two backward passes over the same graph gave different gradients",
                "The backward draws random numbers, changes what it saved, or sums in another "
                "order each time.",
                (
                    "in a custom backward: do not write into ctx.saved_tensors or the incoming "
                    "gradient, and save random masks in forward",
                    "if only the order of sums differs, pass a small nondet_tol, such as 1e-12",
                ),
                "not-reproducible",
            ),
            Form(
                r"(Expected backward function to handle undefined output grads|Expected all input "
                r"grads to be undefined or zero)",
                "a backward does not cope with an output that gets no gradient",
                "Where an output is not used, its gradient is None (or zeros) and what comes out "
                "must be zero.",
                (
                    "in a custom backward: test for None, and multiply by the incoming gradient",
                    "ctx.set_materialize_grads(True), the default, gives zeros in place of None",
                ),
                "undefined-gradients",
            ),
            Form(
                r"backward not multiplied by grad_output",
                "a backward gave a gradient although the incoming one was zero",
                "A derivative is passed on times the incoming gradient.",
                ("in a custom backward: multiply the result by the incoming gradient",),
                "undefined-gradients",
            ),
            Form(
                r"(grad is incorrect (type|size)|Gradient has dtype mismatch|Analytical gradient "
                r"has incorrect size|Forward AD gradient has dtype mismatch)",
                "a derivative has another shape or dtype than what it belongs to",
                "The gradient of a tensor has the shape and the dtype of the tensor.",
                ("in a custom Function: convert or reshape what backward() or jvp() returns",),
                "kind",
            ),
            Form(
                r"While computing batched gradients, got:",
                "gradients of several directions at once could not be computed",
                "check_batched_grad runs the backward under vmap, which not every operation "
                "allows.",
                (
                    "see what the message says after `got:`",
                    "if batches are not needed, pass check_batched_grad=False",
                ),
                "batched",
            ),
            Form(
                r"For output (?P<output>\d+) and input (?P<index>\d+):\n\n.*batched gradient",
                "the gradients of several directions at once differ from those one by one",
                "The backward mixes the directions, for example by reducing over all dimensions.",
                ("in a custom vmap method: check which dimension is the batch",),
                "batched",
            ),
            Form(
                r"Mismatch in tangent values for output with index: (?P<output>\d+) when input: ",
                "a tangent that is missing is not treated as zeros",
                "An input without a tangent does not move.",
                ("in a custom jvp(): test for None",),
                "undefined-gradients",
            ),
        ),
        ("mismatch", "not-reproducible", "undefined-gradients", "kind", "batched"),
    ),
    Entry(
        "RG615",
        "gradcheck-inputs",
        "gradcheck cannot say anything about these inputs",
        (
            Form(
                r"gradcheck expects at least one input tensor to require gradient",
                "no input of gradcheck requires a gradient",
                "There is no derivative to check.",
                ("make the inputs with requires_grad=True and dtype=torch.float64",),
                "no-gradient",
            ),
            Form(
                r"Input #(?P<index>\d+) requires gradient and is not a double precision floating",
                "input {index} of gradcheck is not in double precision",
                "The numerical side divides a difference of two close values by a step of 1e-6. In "
                "float32 only a digit or two of that difference are left.",
                (
                    "use dtype=torch.float64 for the inputs, and module.double() for modules",
                    "a larger eps and tolerance let a wrong formula pass as well",
                ),
                "precision",
                "warning",
            ),
            Form(
                r"The (?P<index>\d+)th input has a dimension with stride 0",
                "input {index} of gradcheck repeats its elements by expand()",
                "Moving one element in memory moves several in the tensor.",
                (
                    "expand inside of the checked function instead: it is then part of the check",
                    "or make a real copy: x.expand(...).clone().detach().requires_grad_()",
                ),
                "overlap",
            ),
            Form(
                r"Expected `func` to return outputs with the same (?P<what>\w+) when inputs are "
                r"perturbed",
                "the {what} of the output changes when an input moves by a little",
                "The function decides by its values what to return.",
                ("check it at a point where it does not change its mind",),
                "unsteady",
            ),
            Form(
                r"(Expected at least one of check_\w+ or check_\w+ to be True|Setting check_\w+"
                r"=True requires)",
                "the options of gradcheck contradict each other",
                None,
                ("turn on what the message asks for",),
                "options",
            ),
        ),
        ("no-gradient", "precision", "overlap", "unsteady", "options"),
    ),
    Entry(
        "RG616",
        "checkpoint-use",
        "checkpoint() was used in a way that its reentrant form does not allow",
        (
            Form(
                r"When use_reentrant=True, torch\.utils\.checkpoint is incompatible with \.grad",
                "a checkpoint with use_reentrant=True was asked for gradients of chosen inputs",
                "The reentrant form runs a backward pass of its own inside of the backward pass, "
                "which fills .grad of everything it meets; it cannot be told to stop at inputs.",
                (
                    "pass use_reentrant=False to checkpoint(): it has no such limits",
                    "or call .backward() without inputs=, and read .grad",
                ),
                "chosen-inputs",
            ),
            Form(
                r"none of output has requires_grad=True, this checkpoint\(\) is not necessary",
                "nothing in the checkpointed function requires a gradient when it is run again",
                "An output was marked in the forward pass, and its path does not lead to anything "
                "trainable.",
                ("take this part out of the checkpoint", "or pass use_reentrant=False"),
                "no-gradient",
            ),
            Form(
                r"None of the inputs have requires_grad=True\. Gradients will be None",
                "no input of a checkpoint with use_reentrant=True requires a gradient",
                "The reentrant form looks at its inputs alone: parameters inside of the function "
                "get no gradient then, without any error.",
                (
                    "pass use_reentrant=False to checkpoint(): parameters are seen",
                    "or make an input require a gradient, for example by x.requires_grad_()",
                ),
                "no-gradient",
                "warning",
            ),
            Form(
                r"torch\.utils\.checkpoint(\.checkpoint_sequential)?: the use_reentrant parameter "
                r"should be passed explicitly",
                "checkpoint() was called without use_reentrant",
                "The two forms differ: the older one, which is still taken, needs an input that "
                "requires a gradient and does not work with autograd.grad().",
                ("pass use_reentrant=False",),
                "not-chosen",
                "warning",
            ),
            Form(
                r"Passing `context_fn` or `debug` is only supported when use_reentrant=False",
                "context_fn or debug was passed together with use_reentrant=True",
                None,
                ("pass use_reentrant=False",),
                "options",
            ),
            Form(
                r"debug=True is incompatible with non-default context_fn",
                "debug=True and a context_fn were passed to checkpoint()",
                "Debug mode brings a context of its own.",
                ("leave out one of them",),
                "options",
            ),
            Form(
                r"determinism_check should be one of (?P<known>.*), but got (?P<got>.*)",
                "checkpoint() does not know the determinism_check {got}",
                None,
                ("use one of {known}",),
                "options",
            ),
            Form(
                r"Only tuple of tensors is supported\. Got Unsupported input type: (?P<got>.*)",
                "the inputs of a checkpoint were given as a {got}",
                None,
                ("pass them one by one: checkpoint(function, x, y)",),
                "options",
            ),
        ),
        ("chosen-inputs", "no-gradient", "not-chosen", "options"),
    ),
    Entry(
        "RG617",
        "saved-tensor-hooks",
        "hooks on saved tensors broke a rule, or came at the wrong time",
        (
            Form(
                r"A saved tensor pack hook is modifying its input in place",
                "a pack hook changed the tensor that it was given",
                "That tensor is the one that the program goes on computing with.",
                ("work on a copy: return x.half(), x.to(...) or x.clone()",),
                "pack",
            ),
            Form(
                r"Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                r"type (?P<got>.*)",
                "an unpack hook returned a {got}",
                "It has to give back the tensor that the pack hook was given, or its equal.",
                ("return a tensor; a function without `return` returns None",),
                "unpack",
            ),
            Form(
                r"Calling register_hooks on a saved tensor whose hooks have already been set",
                "hooks were registered twice on one saved tensor",
                "What the first pair packed cannot be given to a second one.",
                ("join both in one pair of functions",),
                "time",
            ),
            Form(
                r"Calling register_hooks on a saved tensor after it has been freed",
                "hooks were registered on a saved tensor after backward had freed it",
                None,
                ("register them before backward(), or pass retain_graph=True to it",),
                "time",
            ),
            Form(
                r"Calling register_hooks on a saved tensor with value None",
                "hooks were registered where nothing is saved",
                "The operation did not need this value.",
                ("skip entries that are None",),
                "time",
            ),
            Form(
                r"allow_mutation_on_saved_tensors contexts cannot be nested",
                "allow_mutation_on_saved_tensors() was entered inside of itself",
                "One such context sees every write; a second one would copy twice.",
                ("keep the outer one",),
                "mutation",
            ),
            Form(
                r"Trying to backward outside of the 'allow_mutation_on_saved_tensors' context",
                "backward() ran after allow_mutation_on_saved_tensors() had been left",
                "The copies of overwritten tensors live as long as the context.",
                ("call backward() inside of the same `with` block as the forward pass",),
                "mutation",
            ),
        ),
        ("pack", "unpack", "time", "mutation"),
    ),
    Entry(
        "RG618",
        "gradient-edge",
        "a gradient edge was asked for, or used, where there is none",
        (
            Form(
                r"It is not possible to get the gradient edge for a Tensor that does not require",
                "the gradient edge of a tensor that does not require a gradient was asked for",
                "An edge is the place in the graph where the gradient of a tensor arrives.",
                ("call requires_grad_() on it, or on what it is computed from, first",),
                "no-edge",
            ),
            Form(
                r"Expected gradient function to be set",
                "a tensor without history was given where a place in the graph is needed",
                "It was computed from nothing that requires a gradient, or without recording.",
                ("leave out tensors whose requires_grad is False",),
                "no-edge",
            ),
            Form(
                r"materialize_grads cannot be used when the given input is a GradientEdge",
                "materialize_grads=True was used with a gradient edge",
                "Zeros need a shape, and an edge does not know that of its tensor.",
                ("pass the tensor itself, or allow_unused=True and test for None",),
                "tensor-needed",
            ),
            Form(
                r"Batched grads are not supported with GradientEdge",
                "is_grads_batched=True was used with a gradient edge",
                "The shape of a batch is taken from the output, which an edge does not know.",
                ("pass the tensor itself as the output",),
                "tensor-needed",
            ),
            Form(
                r"all inputs have to be Tensors or GradientEdges, but got (?P<got>.*)",
                "a {got} was passed as an input to differentiate by",
                None,
                ("pass tensors or what get_gradient_edge() returned",),
                "tensor-needed",
            ),
        ),
        ("no-edge", "tensor-needed"),
    ),
)
