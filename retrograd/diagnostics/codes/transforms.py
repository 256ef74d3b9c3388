"""Codes RG601 to RG612: vmap, the transforms of torch.func, forward mode."""

from __future__ import annotations

from .entry import Entry, Form

_VMAP = r"vmap\((?P<name>.+?), in_dims=(?P<dims>.+?), \.\.\.\)\(<inputs>\): "
_TYPE = r"<class '(?P<got>[\w.]+)'>"
_STRUCTURE = "A result belongs to an argument by its place, so both need the same nesting."

VMAP: tuple[Entry, ...] = (
    Entry(
        "RG601",
        "vmap-needs-values",
        "a function under vmap needs to know the values of its tensors",
        (
            Form(
                r"vmap: It looks like you're attempting to use a Tensor in some data-dependent",
                "a tensor decides what runs next, inside of vmap",
                "The function runs once for all examples. An `if` or `while` could go one way for "
                "some of them and another way for others.",
                (
                    "compute both branches and choose between them: torch.where(condition, a, b)",
                    "if the condition does not depend on the batch, compute it before vmap and "
                    "pass it as a bool",
                ),
                "control-flow",
            ),
            Form(
                r"vmap: It looks like you're calling \.item\(\) on a Tensor",
                "a number was taken out of a tensor, inside of vmap",
                "The tensor stands for one example but holds all of them, so there is no one "
                "number. item(), float(), int() and using it as an index all ask for one.",
                (
                    "keep it a tensor: x * scale works without scale.item()",
                    "to index, use gather(), take_along_dim() or torch.where()",
                    "to look at it, print the tensor: its repr shows the whole batch",
                ),
                "item",
            ),
            Form(
                r"Cannot access (data pointer of Tensor that doesn't have|storage of "
                r"BatchedTensorImpl)",
                "the memory of a tensor was asked for, inside of vmap",
                "The tensor stands for one example but holds all of them; numpy(), tolist(), "
                "data_ptr() and copies of its memory have no one example to give.",
                ("do what needs the values before vmap, or with its result",),
                "memory",
            ),
            Form(
                r"(accessing `data`|mutating directly with `\.data`) under vmap",
                ".data was used inside of vmap",
                "It goes past everything that keeps track of the batch.",
                (
                    "use detach() to read without history",
                    "or an in-place operation under torch.no_grad() to write",
                ),
                "memory",
            ),
            Form(
                r"vmap: We do not support batching operators that can output dynamic shape\. "
                r"Attempted to vmap over aten::(?P<name>\w+)",
                "{name} gives results of other shapes for other examples",
                "The examples of a batch are stacked into one tensor, so they need one shape.",
                (
                    "keep the shape and mark what counts: torch.where(mask, x, 0) in place of "
                    "selecting",
                    "or call {name} before vmap, or in a loop over the examples",
                ),
                "dynamic-shape",
            ),
            Form(
                r"vmap: (We do not support batching operators that can support dynamic shape|"
                r"Attempted to vmap over `mask`)",
                "a boolean mask would select another number of elements in every example",
                "The examples of a batch are stacked into one tensor, so they need one shape.",
                (
                    "keep the shape: torch.where(mask, x, 0) in place of x[mask]",
                    "then sums are right as they are, and a mean divides by mask.sum()",
                ),
                "dynamic-shape",
            ),
            Form(
                r"vmap: the examples of a batch gave results of different shapes: (?P<shapes>.+)",
                "the examples of a batch gave results of the shapes {shapes}",
                "The examples of a batch are stacked into one tensor, so they need one shape.",
                ("make the shape independent of the values, for example by padding",),
                "dynamic-shape",
            ),
        ),
        ("control-flow", "item", "memory", "dynamic-shape"),
    ),
    Entry(
        "RG602",
        "vmap-random",
        "a random operation inside of vmap, which has not been told what that should mean",
        (
            Form(
                r"vmap: called random operation while in randomness error mode",
                "a random number was drawn inside of vmap",
                "It could be one draw for all examples, or one for each; neither is right for "
                "every program, so vmap asks. Dropout in training mode is a random operation too.",
                (
                    'for a draw of its own for each example: vmap(f, randomness="different")',
                    'for one draw for all examples: vmap(f, randomness="same")',
                    "or draw before vmap, and pass the numbers as an argument",
                ),
                "not-chosen",
            ),
            Form(
                r"Vmap does not currently support same randomness with a batched tensor input",
                'randomness="same" was asked for, and the random operation takes a batched tensor',
                "The tensor differs between the examples, so the draw cannot be the same.",
                (
                    'use randomness="different"',
                    "or draw from a tensor without a batch: torch.rand(x.shape), not rand_like(x)",
                ),
                "same",
            ),
            Form(
                r"vmap: Cannot ask for different inplace randomness on an unbatched tensor",
                "random numbers for every example would have to fit into one tensor",
                "The tensor was made outside of the batch and has room for one example.",
                (
                    "make it from a batched tensor, x.new_empty(shape), or use the out-of-place "
                    "operation",
                ),
                "room",
            ),
            Form(
                r"vmap: We do not support calling out variants of random operations",
                "a random operation was called with out= inside of vmap",
                "The given tensor has room for one example.",
                ("drop out= and use the returned tensor",),
                "room",
            ),
            Form(
                r"Only allowed values for randomness are .* Got (?P<got>.*)",
                "vmap does not know the randomness {got}",
                None,
                ('use "error", "different" or "same"',),
                "not-chosen",
            ),
        ),
        ("not-chosen", "same", "room"),
    ),
    Entry(
        "RG603",
        "vmap-in-place",
        "a batch was written in place into a tensor that has room for one example",
        (
            Form(
                r"vmap: inplace (?P<name>[\w]+)\(self, \*extra_args\) is not possible",
                "a value of every example was written into a tensor that is the same for all",
                "Inside of vmap a tensor from outside, or from torch.zeros() and its like, has no "
                "batch. After the write it would need one value for each example.",
                (
                    "make the written tensor from a batched one: x.new_zeros(shape) in place of "
                    "torch.zeros(shape)",
                    "or use the out-of-place operation: total = total + x",
                    "or collect the parts in a list, and torch.stack() them",
                ),
            ),
            Form(
                r"vmap: (?P<name>[\w]+)\(self, \*extra_args\) is not possible",
                "a value of every example was written into a tensor that is the same for all",
                "Inside of vmap a tensor from outside, or from torch.zeros() and its like, has no "
                "batch. After {name} it would need one value for each example.",
                (
                    "make the written tensor from a batched one: x.new_zeros(shape) in place of "
                    "torch.zeros(shape)",
                    "or use an out-of-place operation, or torch.stack() the parts",
                ),
            ),
        ),
    ),
    Entry(
        "RG604",
        "vmap-dimensions",
        "in_dims, out_dims and the inputs or outputs of vmap do not go together",
        (
            Form(
                r"vmap: Expected all tensors to have the same size in the mapped dimension, got "
                r"sizes (?P<sizes>\[.*\])",
                "the inputs have different numbers of examples: {sizes}",
                "vmap takes example i of every input for call i.",
                (
                    "for an input that is the same for all examples, say None: "
                    "vmap(f, in_dims=(0, None))",
                    "if the batch is another dimension of an input, name that one in in_dims",
                    "for every combination of two inputs, nest two vmaps",
                ),
                "sizes",
            ),
            Form(
                r"vmap: Expected at least one Tensor to vmap over",
                "no input has a batch",
                "in_dims is None everywhere, so there is nothing to map over.",
                ("give the dimension of the batch for at least one input",),
                "sizes",
            ),
            Form(
                r"vmap\((?P<name>.+)\)\(<inputs>\): got no inputs",
                "the function made by vmap was called without positional arguments",
                "in_dims speaks of positional arguments; keyword arguments are passed to every "
                "example as they are, each mapped over its dimension 0 in no case.",
                ("pass what has a batch by position",),
                "in-dims",
            ),
            Form(
                _VMAP + rf"expected `in_dims` to be int or a .* got: {_TYPE}",
                "in_dims is a {got}, and should be an int or a tuple",
                None,
                ("write one int for all inputs, or a tuple with one entry for each: (0, None)",),
                "in-dims",
            ),
            Form(
                _VMAP + r"in_dims is not compatible with the structure of `inputs`",
                "in_dims={dims} does not have one entry for each input of {name}",
                "in_dims is nested as the arguments are; an int or None stands for everything "
                "below its place.",
                (
                    "write a tuple with one entry for each positional argument",
                    "for a dict or a list among them, one int stands for all its tensors",
                ),
                "in-dims",
            ),
            Form(
                _VMAP + r"Got in_dim=(?P<dim>.*) for an input but in_dim must be",
                "in_dims holds {dim}, which is neither an int nor None",
                None,
                ("use an int for a batched input and None for one without a batch",),
                "in-dims",
            ),
            Form(
                _VMAP + rf"Got in_dim=(?P<dim>.*) for an input but the input is of type {_TYPE}",
                "vmap was asked to map over a {got}",
                "Only tensors have a dimension to map over.",
                (
                    "say None at its place: vmap(f, in_dims=(0, None))",
                    "or bind it first: vmap(lambda x: f(x, scale))",
                ),
                "in-dims",
            ),
            Form(
                _VMAP + r"Got in_dim=(?P<dim>-?\d+) for some input, but that input is a Tensor of "
                r"dimensionality (?P<rank>\d+)",
                "an input of {name} has {rank} dimension(s), and so no dimension {dim}",
                "The mapped dimension must exist in every input that is not marked None. Under "
                "two vmaps the inner one sees a tensor with one dimension less.",
                (
                    "say None for an input that is the same for all examples",
                    "or add the dimension: x.unsqueeze(0), x.expand(size, ...)",
                ),
                "in-dims",
            ),
            Form(
                r"vmap\((?P<name>.+), \.\.\., out_dims=(?P<dims>.+)\): `out_dims` must be an int",
                "out_dims={dims} holds something that is neither an int nor None",
                None,
                ("write one int for all outputs, or a tuple with one entry for each",),
                "out-dims",
            ),
            Form(
                r"vmap\((?P<name>.+), \.\.\., out_dims=(?P<dims>.+)\)\(<inputs>\): out_dims is not "
                r"compatible with the structure of `outputs`",
                "out_dims={dims} is not nested as what {name} returns",
                _STRUCTURE,
                ("write one int for all outputs, or one for each place",),
                "out-dims",
            ),
            Form(
                r"vmap\((?P<name>.+), \.\.\.\): `.+` can not return a BatchedTensor when out_dim",
                "an output of {name} has a batch, and out_dims says None for it",
                "None means that the output is the same for all examples.",
                ("give the place of the batch, usually 0",),
                "out-dims",
            ),
            Form(
                rf"vmap\((?P<name>.+), \.\.\.\): `.+` must only return Tensors, got type {_TYPE}",
                "{name} returned a {got}, and vmap stacks tensors only",
                "One run of the function stands for all examples, so a value that is not a tensor "
                "exists once.",
                (
                    "return tensors; a function without `return` returns None",
                    "or say out_dims=None at its place, and get it as it is",
                ),
                "out-dims",
            ),
            Form(
                r"vmap: chunk_size should be None or greater than 0\. \(got (?P<got>.*)\)",
                "chunk_size is {got}",
                None,
                ("give the number of examples to compute at a time, or None for all",),
                "sizes",
            ),
        ),
        ("sizes", "in-dims", "out-dims"),
    ),
    Entry(
        "RG605",
        "vmap-escaped",
        "a tensor from inside of vmap was used after vmap had returned",
        (
            Form(
                r"Either your tensor may have escaped from inside a function being vmapped",
                "a tensor of a function under vmap outlived it",
                "It stands for one example, which exists only while vmap runs. It got out by a "
                "list, an attribute or a global that the function wrote to.",
                ("return the tensor from the function: vmap gives it back with its batch",),
            ),
        ),
    ),
)

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
                r"Expected the tangents .* to have the same argspec as the primals",
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
                r"to call in-place operation \(aten::(?P<name>\w+)\) that would mutate a captured",
                "{name} wrote into a tensor from outside of the transformed function",
                "The tensor would keep a history that ends when the transform does, and a second "
                "call of the function would not start from the same values.",
                (
                    "pass the tensor as an argument and return its new value",
                    "for a running statistic of a module (BatchNorm in training mode): use "
                    "eval(), or functional_call() with the buffers as arguments",
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
