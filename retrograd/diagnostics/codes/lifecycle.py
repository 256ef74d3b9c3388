"""Codes RG1xx: the life of the graph."""

from __future__ import annotations

from .entry import Entry, Form

_NO_GRAD_VIEW = r"(Output \d+ of \w+ is a view of a view which|A view) was created in no_grad mode"
_INFERENCE_VIEW = r"(Output \d+ of \w+ is a view of a view which|A view) was created in inference"

LIFECYCLE: tuple[Entry, ...] = (
    Entry(
        "RG101",
        "graph-freed",
        "a backward pass needs values that an earlier one has already freed",
        (Form(r"Trying to backward through the graph a second time"),),
        (
            "same-loss-twice",
            "shared-trunk",
            "carried-state",
            "built-outside-loop",
            "one-result-two-losses",
            "freed-by-grad",
            "interrupted",
            "read-after-free",
        ),
    ),
    Entry(
        "RG102",
        "saved-value-modified",
        "a value saved for backward was changed in place before it was used",
        (Form(r"one of the variables needed for gradient computation has been modified"),),
        ("in-place-write", "optimizer-step", "carried-state"),
    ),
    Entry(
        "RG103",
        "no-path-to-a-gradient",
        "backward was called on a tensor that no recorded path leads out of",
        (
            Form(r"element (?P<index>\d+) of tensors does not require grad"),
            Form(
                r"One of the differentiated Tensors does not require grad",
                "a tensor given to grad() does not require a gradient",
                "autograd.grad() can differentiate only towards tensors that required a gradient "
                "before the forward pass used them.",
                ("call requires_grad_() on the input before the forward pass",),
                "never-connected",
            ),
        ),
        (
            "detach",
            "no-grad",
            "data",
            "inference",
            "nondifferentiable",
            "missing-create-graph",
            "left-the-library",
            "never-connected",
        ),
    ),
    Entry(
        "RG104",
        "non-scalar-backward",
        "backward() without a gradient needs a tensor of one element",
        (
            Form(r"grad can be implicitly created only for scalar outputs"),
            Form(
                r"grad can be implicitly created only for real scalar outputs "
                r"but got (?P<dtype>\S+)",
                "backward() without a gradient needs a real number, not {dtype}",
                "The first gradient is taken to be 1 only for a real loss; for a complex result "
                "there is no single choice.",
                (
                    "make a real loss of it, for example with .abs() or .real",
                    "or pass the gradient: backward(gradient=...)",
                ),
                "complex",
            ),
        ),
        ("complex",),
    ),
    Entry(
        "RG105",
        "leaf-modified",
        "a leaf that requires a gradient was written in place",
        (
            Form(r"a leaf Variable that requires grad is being used in an in-place operation"),
            Form(r"a leaf Variable that requires grad has been used in an in-place operation"),
        ),
    ),
    Entry(
        "RG106",
        "view-modified",
        "a view was written in place where its history does not allow it",
        (
            Form(
                r"a view of a leaf Variable that requires grad is being used", reason="view-of-leaf"
            ),
            Form(
                r"Output \d+ of \w+ is a view and (is being|its base).*multiple views",
                reason="multiple-views",
            ),
            Form(_NO_GRAD_VIEW, reason="no-grad-view"),
            Form(_INFERENCE_VIEW, reason="inference-view"),
            Form(
                r"Output \d+ of \w+ is a view and (is being|its base).*inside a custom Function",
                reason="function-view",
            ),
        ),
        ("view-of-leaf", "multiple-views", "no-grad-view", "inference-view", "function-view"),
    ),
    Entry(
        "RG107",
        "non-leaf-grad",
        "the .grad of a computed tensor was read, and stays empty",
        (Form(r"The \.grad attribute of a Tensor that is not a leaf Tensor is being accessed"),),
        level="warning",
    ),
    Entry(
        "RG108",
        "gradient-does-not-fit",
        "a gradient of the wrong shape, dtype or type was given",
        (
            Form(
                r"attempting to assign a gradient of size '(?P<got>.*?)' to a tensor of size "
                r"'(?P<want>.*?)'",
                "a gradient of shape {got} was assigned to a tensor of shape {want}",
                "`.grad` holds one number for each element of its tensor.",
                ("reshape or reduce the gradient to {want} before assigning it",),
                "shape",
            ),
            Form(
                r"attempting to assign a gradient with dtype '(?P<got>.*?)' to a tensor with "
                r"grad_dtype '(?P<want>.*?)'",
                "a gradient of dtype {got} was assigned where {want} is expected",
                None,
                (
                    "convert it with gradient.to(tensor.dtype) before assigning it",
                    "or set tensor.grad_dtype if another dtype is meant",
                ),
                "dtype",
            ),
            Form(
                r"assigned grad expected to be a Tensor or None but got grad of type (?P<got>.*)",
                "a {got} was assigned to .grad, which takes a Tensor or None",
                None,
                ("assign a Tensor, or None to clear the gradient",),
                "type",
            ),
            Form(
                r"can't assign Variable as its own grad",
                "a tensor was assigned as its own gradient",
                None,
                ("assign a copy: tensor.grad = tensor.detach().clone()",),
                "type",
            ),
            Form(
                r"Mismatch in shape: grad_output\[(?P<index>\d+)\] has a shape of torch.Size\("
                r"(?P<got>.*?)\) and output\[\d+\] has a shape of torch.Size\((?P<want>.*?)\)",
                "the gradient passed for output {index} has shape {got}, its output has {want}",
                "The gradient given to backward() or grad() holds one number for each element of "
                "the output it belongs to.",
                (
                    "pass a gradient of shape {want}, for example torch.ones_like(output)",
                    "or reduce the output to a scalar first and pass none",
                ),
                "shape",
            ),
        ),
        ("shape", "dtype", "type"),
    ),
    Entry(
        "RG109",
        "input-not-used",
        "autograd.grad() was asked for an input that the output does not depend on",
        (
            Form(
                r"The differentiated Tensor at index (?P<index>\d+) appears to not have been used"
            ),
            Form(
                r"`inputs` argument to `(?P<call>\w+)\(\)` cannot be empty",
                "{call}() was given an empty list of inputs",
                None,
                ("name at least one tensor, or leave `inputs` out",),
                "empty",
            ),
        ),
        ("not-used", "empty"),
    ),
    Entry(
        "RG110",
        "saved-value-detached",
        "a tensor saved for backward was cut out of its graph with detach_()",
        (
            Form(r"Trying to use a saved tensor that has been detached in-place"),
            Form(
                r"Can't detach views in-place",
                "detach_() was called on a view",
                "A view shares its history with its base, so it cannot lose it alone.",
                ("use detach(), which returns a new tensor",),
                "view",
            ),
        ),
        ("view",),
    ),
    Entry(
        "RG111",
        "requires-grad-refused",
        "requires_grad cannot be set on this tensor",
        (
            Form(
                r"[oO]nly Tensors of floating point( and complex)? dtype can require gradients",
                "a tensor of whole numbers cannot require a gradient",
                "A derivative needs values that can change by a little; integers and booleans "
                "cannot.",
                ("make it a floating point tensor first: tensor.float(), or dtype=torch.float32",),
                "not-floating-point",
            ),
            Form(
                r"you can only change requires_grad flags of leaf variables",
                "requires_grad of a computed tensor cannot be changed",
                "A computed tensor requires a gradient because its inputs do; switching that off "
                "would cut the graph of everything built from it.",
                (
                    "to go on without history, use tensor.detach()",
                    "to compute without recording, put the forward pass under torch.no_grad()",
                ),
                "computed",
            ),
            Form(
                r"Setting requires_grad=True on inference tensor",
                "a tensor made in inference mode cannot require a gradient",
                None,
                ("make a normal copy outside inference mode: tensor.clone()",),
                "inference",
            ),
        ),
        ("not-floating-point", "computed", "inference"),
    ),
    Entry(
        "RG112",
        "would-lose-its-graph",
        "a tensor with history cannot be handed to something that cannot carry it",
        (
            Form(
                r"Can't call numpy\(\) on Tensor that requires grad",
                "numpy() was called on a tensor that requires a gradient",
                "A NumPy array has no history. If the values came back into the computation, the "
                "gradient would be lost without a word, so the cut has to be written down.",
                ("to look at the values, use tensor.detach().numpy()",),
                "numpy",
            ),
            Form(
                r"Only Tensors created explicitly by the user \(graph leaves\) support",
                "deepcopy was called on a computed tensor",
                "A deep copy of a computed tensor would need a copy of its whole graph.",
                (
                    "copy its values with tensor.detach().clone()",
                    "if a module is being copied: it stores a computed tensor as an attribute",
                ),
                "deepcopy",
            ),
        ),
        ("numpy", "deepcopy"),
    ),
    Entry(
        "RG113",
        "inference-tensor",
        "a tensor made in inference mode was used where autograd records",
        (
            Form(
                r"Inference tensors cannot be saved for backward",
                "a tensor made in inference mode would have to be saved for backward",
                "Such tensors keep no version, so a later change could not be noticed.",
                (
                    "use torch.no_grad() instead of torch.inference_mode() where it is made",
                    "or make a normal copy outside of it: tensor.clone()",
                ),
                "saved",
            ),
            Form(
                r"Inplace update to inference tensor outside InferenceMode",
                "a tensor made in inference mode was written in place outside of it",
                None,
                ("make a normal copy first: tensor = tensor.clone()",),
                "in-place",
            ),
        ),
        ("saved", "in-place"),
    ),
    Entry(
        "RG114",
        "no-gradient-to-watch",
        "a hook or retain_grad() was put on a tensor that gets no gradient",
        (
            Form(
                r"can't retain_grad on Tensor that has requires_grad=False",
                "retain_grad() was called on a tensor that does not require a gradient",
                None,
                ("call requires_grad_() on it, or on what it is computed from, first",),
            ),
            Form(
                r"cannot register a hook on a tensor that doesn't require gradient",
                "a hook was put on a tensor that does not require a gradient",
                None,
                ("call requires_grad_() on it, or on what it is computed from, first",),
            ),
        ),
    ),
    Entry(
        "RG115",
        "overlapping-write",
        "an in-place operation would write memory that it also reads, or one cell twice",
        (
            Form(
                r"unsupported operation: more than one element of the written-to tensor",
                "several elements of the written tensor are the same memory",
                "An expanded tensor repeats one value without storing it again; writing one "
                "element would write them all.",
                ("make a real copy first: tensor = tensor.clone()",),
                "expanded",
            ),
            Form(
                r"unsupported operation: some elements of the input tensor and the written-to",
                "the operation reads memory that it is about to overwrite",
                "The input and the written tensor are overlapping parts of one storage, so the "
                "result would depend on the order of the elements.",
                ("copy the input first: .clone()",),
                "overlap",
            ),
        ),
        ("expanded", "overlap"),
    ),
    Entry(
        "RG116",
        "out-argument-with-grad",
        "out= cannot be used while a gradient is recorded",
        (
            Form(
                r"(?P<name>\w+)\(\): functions with out=... arguments don't support automatic",
                "{name}(out=...) was called with an operand that requires a gradient",
                "Writing into a given tensor would replace its history.",
                (
                    "drop out= and use the returned tensor",
                    "or compute without recording, under torch.no_grad()",
                ),
            ),
        ),
    ),
    Entry(
        "RG117",
        "optimizer-parameters",
        "an optimizer was given something that it cannot train",
        (
            Form(
                r"can't optimize a non-leaf Tensor",
                "an optimizer was given a computed tensor",
                "Only leaves keep a `.grad`; a computed tensor is rebuilt by every forward pass, "
                "and a step on the old one would change nothing.",
                (
                    "make it a leaf where it is created: move .to(), .float() and arithmetic "
                    "before requires_grad_(), or wrap the result in nn.Parameter",
                ),
                "computed",
            ),
            Form(
                r"optimizer got an empty parameter list",
                "an optimizer was given no parameters",
                "model.parameters() finds tensors of type nn.Parameter in the module and in its "
                "submodules; plain lists and dictionaries of modules are not searched.",
                (
                    "keep submodules in nn.ModuleList, nn.ModuleDict or nn.Sequential",
                    "if parameters() was a generator, it may have been used up by an earlier loop",
                ),
                "empty",
            ),
        ),
        ("computed", "empty"),
    ),
    Entry(
        "RG118",
        "checkpoint-differs",
        "a checkpointed function did something else when it was computed again",
        (
            Form(
                r"torch\.utils\.checkpoint: (A different number of tensors was saved|trying to "
                r"save more tensors during recomputation)",
                "the recomputation of a checkpointed function saved other tensors than its forward "
                "pass",
                "The function runs a second time during backward, and what it saves must be the "
                "same. It depends on something that has changed since: a counter, a global, a "
                "module's mode, a random number from another library.",
                (
                    "make the function depend on its arguments only, and pass what changes as one",
                    "if one run is right in any case, wrap less: checkpoint the part that repeats",
                ),
                "other-tensors",
            ),
            Form(
                r"torch\.utils\.checkpoint: Recomputed values for the following tensors have "
                r"different metadata",
                "the recomputation of a checkpointed function gave other shapes or dtypes than its "
                "forward pass",
                "The function runs a second time during backward, and what it saves must look the "
                "same. It depends on something that has changed since, or a mode such as a default "
                "dtype differs.",
                ("make the function depend on its arguments only, and pass what changes as one",),
                "other-values",
            ),
            Form(
                r"torch\.utils\.checkpoint: Unpack is being triggered for a tensor that was "
                r"already unpacked once",
                "a saved tensor of a checkpointed function was read twice in one backward pass",
                "A recomputed tensor is let go as soon as it was read.",
                ("read ctx.saved_tensors once in a Function's backward, into a variable",),
                "read-twice",
            ),
        ),
        ("other-tensors", "other-values", "read-twice"),
    ),
)
