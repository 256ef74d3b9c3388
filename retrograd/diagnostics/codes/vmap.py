"""Codes RG601 to RG605: vmap."""

from __future__ import annotations

from .entry import Entry, Form

_VMAP = r"vmap\((?P<name>.+?), in_dims=(?P<dims>.+?), \.\.\.\)\(<inputs>\): "
_TYPE = r"<class '(?P<got>[\w.]+)'>"

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
                r"vmap: inplace (?P<name>\w+)\(self, \*extra_args\) is not possible",
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
                r"vmap: (aten::)?(?P<name>\w+)\(self, \*extra_args\) is not possible",
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
        "the dimensions given to vmap do not go with its inputs or outputs",
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
                "Only positional arguments are mapped; a keyword argument reaches the function "
                "whole, the same for all examples.",
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
                "An entry of out_dims belongs to an output by its place.",
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
