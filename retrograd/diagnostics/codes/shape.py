"""Codes RG2xx: shapes and indices."""

from __future__ import annotations

from .entry import Entry, Form

SHAPE: tuple[Entry, ...] = (
    Entry(
        "RG201",
        "shapes-do-not-broadcast",
        "two shapes do not broadcast together",
        (
            Form(
                r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b "
                r"\((?P<b>\d+)\) at non-singleton dimension (?P<dim>\d+)",
                "sizes {a} and {b} do not broadcast in dimension {dim}",
                "Shapes are compared from the right; two sizes fit if they are equal or one of "
                "them is 1.",
                (
                    "if one operand lacks a dimension, add it with unsqueeze() or [:, None]",
                    "if two dimensions are swapped, put them in order with transpose() or .T",
                ),
            ),
            Form(
                r"output with shape (?P<got>\[.*?\]) doesn't match the broadcast shape "
                r"(?P<want>.*)",
                "an in-place result of shape {want} does not fit into a tensor of shape {got}",
                "An in-place operation cannot enlarge the tensor that it writes.",
                ("use the out-of-place operation, which returns a new tensor",),
                "in-place",
            ),
            Form(
                r"The expanded size of the tensor \((?P<want>-?\d+)\) must match the existing size "
                r"\((?P<got>\d+)\) at non-singleton dimension (?P<dim>\d+)",
                "size {got} cannot be expanded to {want} in dimension {dim}",
                "Only a dimension of size 1 can be expanded.",
                (
                    "to repeat the values, use repeat() or repeat_interleave()",
                    "if a dimension is missing, add it with unsqueeze()",
                ),
                "expand",
            ),
            Form(
                r"expand\(.*\): the number of sizes provided \((?P<got>\d+)\) must be greater or "
                r"equal to the number of dimensions in the tensor \((?P<want>\d+)\)",
                "expand() needs at least {want} sizes, {got} given",
                None,
                ("name every dimension; -1 keeps the size it has",),
                "expand",
            ),
        ),
        ("in-place", "expand"),
    ),
    Entry(
        "RG202",
        "product-shapes",
        "the inner sizes of a matrix product do not agree",
        (
            Form(
                r"mat1 and mat2 shapes cannot be multiplied "
                r"\((?P<rows>\d+)x(?P<a>\d+) and (?P<b>\d+)x(?P<columns>\d+)\)",
                "a {rows}x{a} matrix cannot be multiplied by a {b}x{columns} one",
                "The number of columns on the left ({a}) must equal the number of rows on the "
                "right ({b}).",
                ("in a layer: in_features must be {a}, the last size of its input",),
            ),
            Form(
                r"size mismatch, got input \(\d+\), mat \((?P<rows>\d+)x(?P<a>\d+)\), "
                r"vec \((?P<b>\d+)\)",
                "a {rows}x{a} matrix cannot be multiplied by a vector of {b}",
                "The number of columns ({a}) must equal the length of the vector ({b}).",
            ),
            Form(
                r"inconsistent tensor size, expected tensor \[(?P<a>\d+)\] and src \[(?P<b>\d+)\]",
                "vectors of {a} and {b} elements have no dot product",
                "Both vectors must have the same length.",
            ),
            Form(
                r"Expected size for first two dimensions of batch2 tensor to be: "
                r"\[(?P<batch>\d+), (?P<a>\d+)\] but got: \[(?P<got>\d+), (?P<b>\d+)\]",
                "the right operand must be a batch [{batch}, {a}, ...], got [{got}, {b}, ...]",
                "The batch sizes must be equal, and the columns on the left ({a}) must equal the "
                "rows on the right ({b}).",
            ),
            Form(
                r"(?P<name>self|mat1|mat2|batch1|batch2) must be a (?P<kind>.+)",
                "{name} must be a {kind}",
                "mm() takes two matrices and bmm() two batches of matrices.",
                ("use matmul() or @, which accept operands of any number of dimensions",),
                "dimensions",
            ),
        ),
        ("dimensions",),
    ),
    Entry(
        "RG203",
        "view-size",
        "a view or reshape asks for another number of elements",
        (
            Form(
                r"shape '(?P<want>.*?)' is invalid for input of size (?P<got>\d+)",
                "{got} elements cannot take the shape {want}",
                "A reshape keeps every element, so the sizes must multiply to {got}.",
                ("let one size be found: write -1 for it, once",),
            ),
            Form(
                r"unflatten: Provided sizes (?P<want>\[.*?\]) don't multiply up to the size of dim "
                r"(?P<dim>-?\d+) \((?P<got>\d+)\)",
                "dimension {dim} of size {got} cannot be split into {want}",
                "The given sizes must multiply to {got}.",
                ("let one size be found: write -1 for it, once",),
            ),
        ),
    ),
    Entry(
        "RG204",
        "index-out-of-range",
        "an index lies outside the tensor",
        (
            Form(
                r"index (?P<index>-?\d+) is out of bounds for dimension (?P<dim>\d+) with size "
                r"(?P<size>\d+)",
                "index {index} is out of range in dimension {dim}, which has {size} elements",
                "Indices run from 0 to size - 1, or from -size to -1 counted from the end.",
            ),
            Form(
                r"index out of range in self",
                "an index is not smaller than the size of the table it looks up",
                "For an embedding the indices must be at least 0 and smaller than num_embeddings.",
                ("compare indices.max() with the size of the dimension that is indexed",),
                "lookup",
            ),
            Form(
                r"Target (?P<index>-?\d+) is out of bounds",
                "target class {index} does not exist",
                "Class targets run from 0 to C - 1, where C is the number of columns of the input.",
                ("check the number of outputs of the last layer, and whether labels start at 0",),
                "target",
            ),
            Form(
                r"too many indices for tensor of dimension (?P<dim>\d+)",
                "more indices were given than the tensor's {dim} dimension(s)",
                None,
                (),
                "too-many",
            ),
            Form(
                r"invalid index of a 0-dim tensor",
                "a tensor without dimensions cannot be indexed",
                None,
                ("it holds one number: read it with .item()",),
                "too-many",
            ),
        ),
        ("lookup", "target", "too-many"),
    ),
    Entry(
        "RG205",
        "dimension-out-of-range",
        "a dimension was named that the tensor does not have",
        (
            Form(
                r"Dimension out of range \(expected to be in range of \[(?P<low>-?\d+), "
                r"(?P<high>-?\d+)\], but got (?P<got>-?\d+)\)",
                "dim={got} does not exist: this tensor has {low} to {high}",
                "Dimensions count from 0, or from -1 backwards.",
                ("print tensor.shape; dim=-1 always means the last one",),
            ),
            Form(
                r"dim (?P<dim>\d+) appears multiple times in the list of dims",
                "dimension {dim} was named more than once",
                "A negative number may name the same dimension as a positive one.",
                (),
                "repeated",
            ),
        ),
        ("repeated",),
    ),
    Entry(
        "RG206",
        "sizes-to-join",
        "tensors that are to be joined differ in another dimension",
        (
            Form(
                r"Sizes of tensors must match except in dimension (?P<dim>\d+)\. Expected size "
                r"(?P<want>\d+) but got size (?P<got>\d+) for tensor number (?P<number>\d+)",
                "tensor {number} of the list has size {got} where the others have {want}",
                "cat() joins along one dimension ({dim}); all other sizes must be equal.",
                ("if another dimension was meant, pass dim=",),
            ),
            Form(
                r"Tensors must have same number of dimensions: got (?P<a>\d+) and (?P<b>\d+)",
                "tensors with {a} and {b} dimensions cannot be joined by cat()",
                None,
                (
                    "add the missing dimension with unsqueeze()",
                    "or join along a new dimension with stack()",
                ),
                "dimensions",
            ),
            Form(
                r"stack expects each tensor to be equal size, but got (?P<a>\[.*?\]) at entry "
                r"(?P<first>\d+) and (?P<b>\[.*?\]) at entry (?P<second>\d+)",
                "entries {first} and {second} of the list have shapes {a} and {b}",
                "stack() makes a new dimension, so all shapes must be equal.",
                (
                    "to join along an existing dimension, use cat()",
                    "to join sequences of different length, pad them first",
                ),
                "stack",
            ),
            Form(
                r"(torch\.cat\(\): expected a non-empty list of Tensors|stack expects a non-empty)",
                "there is nothing to join: the list is empty",
                None,
                (),
                "empty",
            ),
        ),
        ("dimensions", "stack", "empty"),
    ),
    Entry(
        "RG207",
        "not-one-number",
        "a tensor of several elements was used as one number",
        (
            Form(
                r"a Tensor with (?P<count>\d+) elements cannot be converted to Scalar",
                "item() was called on a tensor of {count} elements",
                None,
                ("reduce it first, for example with .mean() or .sum()", "or use .tolist()"),
            ),
            Form(
                r"Boolean value of Tensor with (?P<what>more than one|no) value",
                "a tensor with {what} value was used as a condition",
                "It is not clear whether all or any of its elements are meant.",
                ("write .all() or .any()", "to choose element by element, use torch.where()"),
                "condition",
            ),
            Form(
                r"only (one element tensors can be converted to Python scalars|integer tensors "
                r"of a single element can be converted to an index)",
                "a tensor of several elements was used as a Python number",
                None,
                ("pick one element, or reduce the tensor first",),
            ),
        ),
        ("condition",),
    ),
    Entry(
        "RG208",
        "view-layout",
        "the layout in memory does not allow this view",
        (
            Form(
                r"view size is not compatible with input tensor's size and stride",
                "view() cannot describe this shape without copying",
                "After transpose(), permute() or slicing, neighbouring elements are no longer "
                "neighbours in memory; view() never copies.",
                (
                    "use reshape(), which copies where it must",
                    "or call contiguous() first, if a view of the copy is meant",
                ),
            ),
        ),
    ),
    Entry(
        "RG209",
        "target-size",
        "a loss was given an input and a target of different sizes",
        (
            Form(
                r"Using a target size \(torch\.Size\((?P<target>.*?)\)\) that is different to the "
                r"input size \(torch\.Size\((?P<input>.*?)\)\)",
                "the target has shape {target}, the input {input}",
                "The loss compares element by element; with different shapes each element would "
                "be compared with many others by broadcasting.",
                ("bring both to one shape, often with target.unsqueeze(1) or input.squeeze(1)",),
            ),
        ),
    ),
)
