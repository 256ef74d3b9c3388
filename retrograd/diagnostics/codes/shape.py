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
            Form(
                r"shape mismatch: value tensor of shape (?P<got>\[.*?\]) cannot be broadcast to "
                r"indexing result of shape (?P<want>\[.*?\])",
                "a value of shape {got} was assigned to a place of shape {want}",
                "The value is stretched to the indexed place where its sizes are 1, not otherwise.",
                (),
                "assignment",
            ),
            Form(
                r"shape mismatch: indexing tensors could not be broadcast together with shapes "
                r"(?P<shapes>.*)",
                "index tensors of shapes {shapes} do not belong to one set of places",
                "Several index tensors are read side by side: the first numbers of all of them "
                "name one element.",
                ("for all combinations, give them a dimension each: x[rows[:, None], columns]",),
                "indices",
            ),
        ),
        ("in-place", "expand", "assignment", "indices"),
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
                r"inner\(\) the last dimension must match on both input tensors but got shapes "
                r"(?P<a>\[.*?\]) and (?P<b>\[.*?\])",
                "the last sizes of {a} and {b} differ",
                "inner() sums over the last dimension of both operands.",
            ),
            Form(
                r"Expected size for first two dimensions of batch2 tensor to be: "
                r"\[(?P<batch>\d+), (?P<a>\d+)\] but got: \[(?P<got>\d+), (?P<b>\d+)\]",
                "the right operand must be a batch [{batch}, {a}, ...], got [{got}, {b}, ...]",
                "The batch sizes must be equal, and the columns on the left ({a}) must equal the "
                "rows on the right ({b}).",
            ),
            Form(
                r"einsum\(\): subscript (?P<letter>\w) has size (?P<b>\d+) for operand "
                r"(?P<number>\d+) which does not broadcast with previously seen size (?P<a>\d+)",
                "the index {letter} has size {b} in operand {number} and {a} before",
                "An index letter stands for one size, the same in every operand that has it.",
                ("compare the letters with the shapes, dimension by dimension",),
                "einsum",
            ),
            Form(
                r"(?P<name>self|mat1|mat2|batch1|batch2) must be a (?P<kind>.+)",
                "{name} must be a {kind}",
                "mm() takes two matrices and bmm() two batches of matrices.",
                ("use matmul() or @, which accept operands of any number of dimensions",),
                "dimensions",
            ),
        ),
        ("einsum", "dimensions"),
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
            Form(
                r"only one dimension can be inferred",
                "-1 was given more than once",
                "-1 stands for the size that is left when all others are known, so there can be "
                "only one.",
            ),
            Form(
                r"split_with_sizes expects split_sizes to sum exactly to (?P<got>\d+) \(input "
                r"tensor's size at dimension (?P<dim>-?\d+)\), but got split_sizes=(?P<want>.*)",
                "dimension {dim} of size {got} cannot be split into {want}",
                "The parts must add up to {got}.",
                ("for parts of equal size, pass one number; the last part may be smaller",),
                "split",
            ),
        ),
        ("split",),
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
            Form(
                r"select\(\): index (?P<index>-?\d+) out of range for tensor of size "
                r"(?P<size>\[.*?\]) at dimension (?P<dim>-?\d+)",
                "index {index} is out of range in dimension {dim} of a tensor of shape {size}",
                "Indices run from 0 to size - 1, or from -size to -1 counted from the end.",
            ),
            Form(
                r"start \((?P<start>\d+)\) \+ length \((?P<length>\d+)\) exceeds dimension size "
                r"\((?P<size>\d+)\)",
                "{length} elements from {start} on reach beyond the {size} that there are",
                "narrow() takes a start and a length, not a start and an end.",
                (),
                "part",
            ),
            Form(
                r"selected index k out of range",
                "more elements were asked for than the dimension has",
                "k must not be larger than the size of the dimension that is searched.",
                (),
                "part",
            ),
            Form(
                r"The shape of the mask (?P<mask>\[.*?\]) at index (?P<index>\d+) does not match "
                r"the shape of the indexed tensor (?P<size>\[.*?\]) at index (?P<dim>\d+)",
                "a mask of shape {mask} does not fit a tensor of shape {size}",
                "A boolean index says for every element whether it is taken, so it has the size "
                "of the dimensions that it covers.",
                ("for index numbers instead of a mask, use integers: mask.long()",),
                "mask",
            ),
        ),
        ("lookup", "target", "too-many", "part", "mask"),
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
            Form(
                r"permute\(sparse_coo\): number of dimensions in the tensor input does not match "
                r"the length of the desired ordering of dimensions i.e. input.dim\(\) = "
                r"(?P<want>\d+) is not equal to len\(dims\) = (?P<got>\d+)",
                "permute() was given {got} dimensions of a tensor that has {want}",
                "permute() names every dimension once, in its new order.",
                ("to swap two dimensions, use transpose(dim0, dim1)",),
                "count",
            ),
            Form(
                r"t\(\) expects a tensor with <= 2 dimensions, but self is (?P<got>\d+)D",
                "t() was called on a tensor of {got} dimensions",
                None,
                ("use .mT for the last two dimensions, or transpose(dim0, dim1)",),
                "count",
            ),
        ),
        ("repeated", "count"),
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
            Form(
                r"zero-dimensional tensor \(at position (?P<number>\d+)\) cannot be concatenated",
                "tensor {number} of the list has no dimension to join along",
                None,
                ("use stack(), which makes one",),
                "dimensions",
            ),
            Form(
                r"expected sequence of length (?P<want>\d+) at dim (?P<dim>\d+) \(got "
                r"(?P<got>\d+)\)",
                "one row of the nested list has {got} entries, another {want}",
                "A tensor has the same number of entries in every row.",
                ("fill short rows up, or keep one tensor for each row in a list",),
                "ragged",
            ),
        ),
        ("dimensions", "stack", "empty", "ragged"),
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
        "a loss was given an input and a target whose sizes do not belong together",
        (
            Form(
                r"Using a target size \(torch\.Size\((?P<target>.*?)\)\) that is different to the "
                r"input size \(torch\.Size\((?P<input>.*?)\)\)\. This will likely lead",
                "the target has shape {target}, the input {input}",
                "The loss compares element by element; by broadcasting, each element is compared "
                "with many others.",
                ("bring both to one shape, often with target.unsqueeze(1) or input.squeeze(1)",),
                "broadcast",
                "warning",
            ),
            Form(
                r"(Using a t|T)arget size \(torch\.Size\((?P<target>.*?)\)\) (that is different to "
                r"the|must be the same as) input size \(torch\.Size\((?P<input>.*?)\)\)",
                "the target has shape {target}, the input {input}",
                "The loss compares element by element.",
                ("bring both to one shape, often with target.unsqueeze(1) or input.squeeze(1)",),
                "dimensions",
            ),
            Form(
                r"Expected input batch_size \((?P<a>\d+)\) to match target batch_size "
                r"\((?P<b>\d+)\)",
                "the input has {a} samples, the target {b}",
                "The first dimension of both counts the samples of the batch.",
                (
                    "if the model merged dimensions, undo it before the loss: the first size of "
                    "its output must be the batch size",
                ),
                "batch",
            ),
            Form(
                r"0D or 1D target tensor expected, multi-target not supported",
                "the target has more than one dimension",
                "Class targets are one class number for each sample.",
                (
                    "drop an extra dimension with target.squeeze(1)",
                    "a one-hot target becomes class numbers with target.argmax(1)",
                ),
                "dimensions",
            ),
            Form(
                r"Expected target size (?P<want>\[.*?\]), got (?P<got>\[.*?\])",
                "the target has shape {got}, and {want} is needed",
                "An input of shape [batch, classes, ...] needs a target of shape [batch, ...].",
                ("if the classes are the last dimension of the input, move them: x.mT",),
                "dimensions",
            ),
        ),
        ("broadcast", "batch", "dimensions"),
    ),
    Entry(
        "RG210",
        "layer-input",
        "the input of a layer does not have the size that the layer was made for",
        (
            Form(
                r"Given (groups|transposed)=\d+, weight of size (?P<weight>\[.*?\]), expected input"
                r"(?P<input>\[.*?\]) to have (?P<want>\d+) channels, but got (?P<got>\d+) channels",
                "a convolution over {want} channels got an input of {got} channels",
                "An image batch has the shape [batch, channels, height, width].",
                (
                    "if the channels are the last dimension, move them: x.permute(0, 3, 1, 2)",
                    "otherwise in_channels of the layer must be {got}",
                ),
                "channels",
            ),
            Form(
                r"Expected (?P<low>\d)D \(unbatched\) or (?P<high>\d)D \(batched\) input to "
                r"(?P<name>\w+), but got input of size: (?P<input>\[.*?\])",
                "{name}() got an input of shape {input}",
                "It takes {high} dimensions: batch, channels and the size of a sample; or "
                "{low} without the batch.",
                ("add the missing dimension with unsqueeze(), often unsqueeze(1) for channels",),
                "dimensions",
            ),
            Form(
                r"Calculated padded input size per channel: \((?P<size>.*?)\)\. Kernel size: "
                r"\((?P<kernel>.*?)\)\. Kernel size can't be greater",
                "a kernel of {kernel} does not fit into an input of {size}",
                None,
                ("use a smaller kernel or more padding, or fewer layers that shrink the input",),
                "window",
            ),
            Form(
                r"Given normalized_shape=(?P<want>\[.*?\]), expected input with shape .*?, but got "
                r"input of size(?P<input>\[.*?\])",
                "an input of shape {input} does not end in {want}",
                "normalized_shape names the last sizes of the input.",
                (),
                "normalized",
            ),
            Form(
                r"(?P<name>running_mean|running_var|weight|bias) should contain (?P<got>\d+) "
                r"elements not (?P<want>\d+)",
                "a normalization over {want} channels got an input of {got} channels",
                "Channels are dimension 1 of the input.",
                ("num_features of the layer must be {got}",),
                "channels",
            ),
            Form(
                r"Expected more than 1 (value per channel|spatial element) when training, got "
                r"input size (?P<input>.*)",
                "a normalization has only one value for each channel, in an input of shape {input}",
                "The variance of one value is zero, so its result would not depend on the input.",
                (
                    "use a larger batch in training; drop_last=True leaves out a last one of 1",
                    "in evaluation, call model.eval() first",
                ),
                "one-value",
            ),
        ),
        ("channels", "dimensions", "window", "normalized", "one-value"),
    ),
)
