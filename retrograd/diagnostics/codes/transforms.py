"""Codes RG606 to RG612: the transforms of torch.func, and forward mode."""

from __future__ import annotations

from .entry import Entry, Form

_TYPE = r"<class '(?P<got>[\w.]+)'>"
_STRUCTURE = "A result belongs to an argument by its place, so both need the same nesting."

FUNC: tuple[Entry, ...] = (
    Entry(
        "RG606",
        "transform-output",
        "a differentiated function returned something that has no such derivative",
        (
            Form(
                r"(?P<api>.+?): Expected f\(\*args\) to return a scalar Tensor, got tensor with "
                r"(?P<rank>\d+) dims",
                "the function returned a tensor with {rank} dimension(s), and grad needs a number",
                "A gradient is the slope of one number.",
                (
                    "reduce the result to one number, usually with .mean() or .sum()",
                    "for the gradient of every element: jacrev(f), or vmap(grad(f)) if the "
                    "elements are examples that do not touch each other",
                ),
                "not-scalar",
            ),
            Form(
                r"The (function|Tensor returned by the function) given to (?P<api>\w+) should "
                r"(return a single Tensor|contain a single element)",
                "{api}() needs a function that returns one number",
                "A gradient is the slope of one number, and a Hessian the slope of a gradient.",
                ("reduce the result to one number, usually with .mean() or .sum()",),
                "not-scalar",
            ),
            Form(
                rf"(?P<api>.+?): Expected f\(\*args\) to return a Tensor, got {_TYPE}",
                "the function returned a {got}, and grad needs a tensor with one number",
                None,
                (
                    "return the loss alone",
                    "to return more next to it: return loss, more, and pass has_aux=True",
                    "if it returned a float: .item() and float() cut the history",
                ),
                "not-a-tensor",
            ),
            Form(
                rf"(?P<api>.+?): expected f\(\*primals\) to return only tensors, got unsupported "
                rf"type {_TYPE}",
                "the function returned a {got} among its outputs",
                "Only tensors have a derivative.",
                ("return what is not differentiated as aux, with has_aux=True",),
                "not-a-tensor",
            ),
            Form(
                r"(?P<api>.+?): Expected f to be a function that has non-empty output",
                "the function returned nothing",
                "There is no output to differentiate.",
                ("check that every path through the function ends with `return`",),
                "not-a-tensor",
            ),
            Form(
                r"(?P<api>.+?): output of function f should be a tuple: \(output, aux\)",
                "has_aux=True was passed, and the function did not return a pair",
                None,
                ("return (output, aux); several values of aux go into one tuple",),
                "aux",
            ),
            Form(
                r"(?P<api>.+?): All outputs of f must be floating-point or complex Tensors, got "
                r"Tensor with dtype (?P<got>.+)",
                "the function returned a tensor of dtype {got}, which has no derivative",
                "Whole numbers and booleans cannot change by a little.",
                ("return it as aux, with has_aux=True",),
                "dtype",
            ),
            Form(
                r"(?P<api>.+?): Expected all (?P<what>\w+) to be real but received complex tensor",
                "{api} was used with complex {what}",
                "A Jacobian of numbers with two parts each would have to say which derivative.",
                ("differentiate torch.view_as_real(z), or use vjp with cotangents of your own",),
                "dtype",
            ),
        ),
        ("not-scalar", "not-a-tensor", "aux", "dtype"),
    ),
    Entry(
        "RG607",
        "transform-arguments",
        "argnums, cotangents, tangents or a vector do not go with the differentiated function",
        (
            Form(
                r"Expected pytree structure of cotangents to be the same as pytree structure of "
                r"outputs to the function\. cotangents: (?P<got>.*), primal output: (?P<want>.*)",
                "the cotangents are nested as {got}, the outputs as {want}",
                "The function that vjp returns takes one argument, nested as the output is.",
                (
                    "for a function with one output pass one tensor, without a tuple around it",
                    "for several outputs pass one tuple: pull((a, b)), not pull(a, b)",
                ),
                "structure",
            ),
            Form(
                r"(?P<api>jvp\(.*?\)): Expected primals and tangents to have the same python "
                r"structure",
                "the primals and the tangents are nested differently",
                _STRUCTURE,
                ("pass two tuples of the same length: jvp(f, (x, y), (dx, dy))",),
                "structure",
            ),
            Form(
                r"(?P<api>jvp\(.*?\)): Expected primals to be a tuple",
                "the primals are not a tuple",
                "They are the arguments of the function, however many it has.",
                ("write jvp(f, (x,), (dx,)) for a function of one argument",),
                "structure",
            ),
            Form(
                r"(?P<api>jvp\(.*?\)): Expected (?P<what>primals|tangents) to (only contain "
                r"Tensors|contain at least one Tensor)",
                "the {what} hold something else than tensors",
                None,
                ("bind other arguments first: jvp(lambda x: f(x, scale), (x,), (dx,))",),
                "structure",
            ),
            Form(
                r"Expected the tangents (?s:.*) to have the same argspec as the primals",
                "the tangents are nested differently from what linearize() was given",
                _STRUCTURE,
                ("pass one tangent for each argument that linearize() got",),
                "structure",
            ),
            Form(
                r"tangent:(?P<index>\d+) with (?P<what>\w+) (?P<got>.*) in flattened pytree "
                r"doesn't match the \w+ (?P<want>.*) of the corresponding primal",
                "tangent {index} has the {what} {got}, its primal {want}",
                "A tangent says how every element of its primal moves.",
                ("make it with torch.ones_like(primal) or torch.randn_like(primal)",),
                "fit",
            ),
            Form(
                r"Trying to set a forward gradient that has a different size than that of the "
                r"original Tensor, this is not supported\. Tensor is of size (?P<want>\[.*?\]) "
                r"while the given forward gradient is of size (?P<got>\[.*?\])",
                "a tangent of shape {got} was given to a tensor of shape {want}",
                "A tangent says how every element of its tensor moves.",
                ("make it with torch.ones_like(tensor) or torch.randn_like(tensor)",),
                "fit",
            ),
            Form(
                r"Expected (?P<what>primal|tangent) to be floating point or complex, but got: "
                r"(?P<got>.*)",
                "a {what} of dtype {got} was given to forward mode",
                "Whole numbers and booleans cannot move by a little.",
                ("convert it: .float() or .double()",),
                "fit",
            ),
            Form(
                r"(Entry (?P<index>\d+) in )?v has invalid size: should be torch\.Size\("
                r"(?P<want>.*?)\) but got torch\.Size\((?P<got>.*?)\)",
                "the vector v has shape {got}, and {want} is needed",
                "vjp and vhp take a vector in the shape of the output or the input that it "
                "multiplies.",
                ("jvp and hvp take a v like the inputs, vjp a v like the output",),
                "fit",
            ),
            Form(
                r"(v is a tuple of invalid length: should be (?P<want>\d+) but got (?P<got>\d+)"
                r"|The given v should contain a single Tensor)",
                "the vector v has the wrong number of tensors",
                _STRUCTURE,
                ("jvp and hvp take a v like the inputs, vjp a v like the outputs",),
                "structure",
            ),
            Form(
                r"The vector v can only be None if",
                "v was left out, and there is more than one number to weigh",
                "Without v the product is with 1, which needs a single number.",
                ("pass v, for example torch.ones_like(...)",),
                "fit",
            ),
            Form(
                r"The (?P<what>\w+) given to (?P<api>\w+) must be either a Tensor or a tuple of "
                rf"Tensors but the .* has type {_TYPE}",
                "the {what} of {api}() hold a {got}",
                "A list is not taken for a tuple here.",
                ("pass a tensor or a tuple of tensors, and bind other arguments with a lambda",),
                "structure",
            ),
            Form(
                r"Got argnum=(?P<index>-?\d+), but only (?P<count>\d+) positional inputs",
                "argnums names argument {index}, and the function was called with {count}",
                "argnums counts positional arguments from 0; keyword arguments have no number.",
                ("pass the argument by position",),
                "argnums",
            ),
            Form(
                r"argnums? (must be|elements must be)",
                "argnums is not an int or a tuple of different ints",
                None,
                ("use argnums=0, or argnums=(0, 1) for gradients of two arguments",),
                "argnums",
            ),
            Form(
                rf"Thing passed to transform API must be Tensor, got {_TYPE}",
                "a {got} was passed where the transform differentiates",
                "Only tensors have a derivative.",
                (
                    "name the tensors with argnums, and leave other arguments out of it",
                    "or make it a tensor: torch.tensor(value)",
                ),
                "argnums",
            ),
        ),
        ("structure", "fit", "argnums"),
    ),
    Entry(
        "RG608",
        "captured-tensor-written",
        "a function under a transform wrote into a tensor that it was not given",
        (
            Form(
                r"During a grad \(vjp, jvp, grad, etc\) transform, the function provided attempted "
                r"to call in-place operation \(aten::(?P<name>\w+)(\.\w+)?\) that would mutate",
                "{name} wrote into a tensor from outside of the transformed function",
                "The tensor would keep a history that ends when the transform does, and a second "
                "call of the function would not start from the same values.",
                (
                    "pass the tensor as an argument and return its new value",
                    "for a running statistic (batch_norm in training mode): use eval(), or "
                    "functional_call() with the buffers as arguments",
                ),
                "captured",
            ),
            Form(
                r"a function under a transform wrote into an argument that is a view",
                "a function under a transform wrote into an argument that is a view",
                "The base of the view would change without a record of it.",
                ("pass a copy: x.clone()",),
                "view",
            ),
        ),
        ("captured", "view"),
    ),
    Entry(
        "RG609",
        "autograd-inside-transform",
        "backward() and its like were used inside of a function under a transform",
        (
            Form(
                r"backward\(\) called inside a functorch transform",
                "backward() was called inside of a function under a transform",
                "backward() adds to the .grad of tensors, which exist before and after the "
                "transform; a function under a transform returns its results.",
                (
                    "call torch.func.grad or torch.func.vjp inside instead: transforms nest",
                    "or torch.autograd.grad, which returns the gradients",
                ),
                "backward",
            ),
            Form(
                r"You are attempting to call Tensor\.(?P<name>requires_grad_|retain_grad)\(\)",
                "{name}() was called inside of a function under a transform",
                "A transform differentiates with respect to arguments; it needs no marks on "
                "tensors. torch.autograd.functional sets such marks too.",
                (
                    "make the tensor an argument, and name it with argnums",
                    "in place of torch.autograd.functional.jacobian: torch.func.jacrev",
                ),
                "flag",
            ),
            Form(
                r"torch\.func\.\{grad, vjp, jacrev, hessian\} don't yet support saved tensor hooks",
                "saved-tensor hooks were used with a transform",
                "save_on_cpu() and checkpoint() are made of such hooks.",
                (
                    "use torch.autograd.grad in place of torch.func.grad here",
                    "or leave out the hooks inside of the transformed function",
                ),
                "hooks",
            ),
        ),
        ("backward", "flag", "hooks"),
    ),
    Entry(
        "RG610",
        "function-inside-transform",
        "a custom Function was not written for vmap and the transforms",
        (
            Form(
                r"In order to use an autograd\.Function with functorch transforms",
                "a custom Function without setup_context() was used inside of a transform",
                "forward(ctx, ...) computes and saves in one step. A transform needs the two "
                "apart, because it runs forward() on tensors of its own.",
                (
                    "write forward(x, ...) without ctx, and save in "
                    "setup_context(ctx, inputs, output)",
                ),
                "setup-context",
            ),
            Form(
                r"You tried to vmap over (?P<name>\w+), but it does not have vmap support",
                "{name} does not say how it works on a batch",
                "vmap does not look into forward().",
                (
                    "set generate_vmap_rule = True if its methods are made of tensor operations",
                    "or add @staticmethod def vmap(info, in_dims, *args)",
                ),
                "vmap",
            ),
            Form(
                r"You tried to vmap over (?P<name>\w+), but it has both generate_vmap_rule=True",
                "{name} has a vmap method and generate_vmap_rule = True",
                "It is not clear which of the two to use.",
                ("keep one of them",),
                "vmap",
            ),
            Form(
                r"(Expected the vmap staticmethod to have two returns|The autograd\.Function's "
                r"vmap staticmethod returned an incompatible \(output, out_dims\) tuple)",
                "the vmap method of a custom Function did not return outputs and their dimensions",
                "It returns a pair: what forward() would return, and where the batch is in it.",
                ("return output, 0 with the batch first, or nest both in the same way",),
                "vmap",
            ),
        ),
        ("setup-context", "vmap"),
    ),
)

FORWARD: tuple[Entry, ...] = (
    Entry(
        "RG611",
        "dual-level",
        "forward mode was used outside of its level, or with two levels",
        (
            Form(
                r"Trying to create a dual Tensor for forward AD but no level exists",
                "make_dual() was called outside of dual_level()",
                "A level is the time during which tangents exist: leaving it clears them.",
                (
                    "put the computation into `with fwAD.dual_level():`",
                    "or use torch.func.jvp, which needs no levels",
                ),
                "no-level",
            ),
            Form(
                r"Nested forward mode AD is not supported",
                "dual_level() was entered inside of dual_level()",
                "Dual tensors carry the tangents of one level only.",
                ("for second derivatives nest torch.func.jvp, or use torch.func.hessian",),
                "nested",
            ),
            Form(
                r"Making a dual Tensor based on a Tensor that already has a forward gradient",
                "make_dual() was given a tensor that has a tangent already",
                "A tensor has one tangent in a level.",
                (
                    "unpack it first: fwAD.unpack_dual(x).primal",
                    "for derivatives of derivatives nest torch.func.jvp",
                ),
                "nested",
            ),
            Form(
                r"Setting a forward grad that itself has a forward gradient",
                "make_dual() was given a tangent that has a tangent itself",
                "A tensor has one tangent in a level.",
                ("for derivatives of derivatives nest torch.func.jvp",),
                "nested",
            ),
            Form(
                r"Trying to exit a forward AD level",
                "a forward mode level was left in the wrong order",
                None,
                ("use `with fwAD.dual_level():`, which leaves it in any case",),
                "no-level",
            ),
            Form(
                r"(Invalid level given to \w+|Dual level must be a positive number)",
                "a level that does not exist was passed to forward mode",
                None,
                ("leave out level=: the innermost one is taken",),
                "no-level",
            ),
        ),
        ("no-level", "nested"),
    ),
    Entry(
        "RG612",
        "no-forward-mode",
        "an operation does not pass tangents on",
        (
            Form(
                r"Trying to use forward AD with (?P<name>\w+)_out that does not support it because "
                r"it is an out= function",
                "{name}(out=...) does not pass tangents on",
                "The given tensor would have to get a tangent, in memory that it does not have.",
                ("drop out= and use the returned tensor",),
                "out",
            ),
            Form(
                r"Trying to use forward AD with (?P<name>\w+) that does not support it because it "
                r"has not been implemented yet",
                "{name} has no formula for tangents",
                "It has one for gradients, and the two are not the same.",
                (
                    "use reverse mode: torch.func.jacrev or vjp in place of jacfwd or jvp",
                    "hessian() is forward over reverse: write jacrev(jacrev(f)) instead",
                ),
                "no-formula",
            ),
        ),
        ("out", "no-formula"),
    ),
)
