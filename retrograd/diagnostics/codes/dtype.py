"""Codes RG3xx: dtypes and devices."""

from __future__ import annotations

from .entry import Entry, Form

DTYPE: tuple[Entry, ...] = (
    Entry(
        "RG301",
        "dtype-mismatch",
        "operands have different dtypes where one is needed",
        (
            Form(
                r"expected (m1 and m2|mat1 and mat2) to have the same dtype, but got: (?P<a>.+) != "
                r"(?P<b>.+)",
                "a product of {a} and {b} matrices",
                "Products do not convert their operands, unlike arithmetic with + and *.",
                ("convert one of them: other.to(self.dtype)",),
            ),
            Form(
                r"(mat1|self) and mat2 must have the same dtype, but got (?P<a>\w+) and (?P<b>\w+)",
                "the input is {a} and the weight is {b}",
                "Layers do not convert their input. NumPy arrays are float64 unless told "
                "otherwise, parameters are float32.",
                ("convert the input with .float(), or the module with .double()",),
            ),
            Form(
                r"addmv input tensors must have the same dtype, but got \w+, (?P<a>\w+), and "
                r"(?P<b>\w+)",
                "a product of a {a} matrix and a {b} vector",
                "Products do not convert their operands, unlike arithmetic with + and *.",
                ("convert one of them: other.to(self.dtype)",),
            ),
            Form(
                r"expected scalar type (?P<a>\w+) but found (?P<b>\w+)",
                "{a} was expected, but the tensor is {b}",
                None,
                ("convert it with .to(dtype)",),
            ),
            Form(
                r"Found dtype (?P<b>\w+) but expected (?P<a>\w+)",
                "{a} was expected, but the tensor is {b}",
                None,
                ("convert it with .to(dtype)",),
            ),
            Form(
                r"dot : expected both vectors to have same dtype, but found (?P<a>\w+) and "
                r"(?P<b>\w+)",
                "a dot product of {a} and {b} vectors",
                "Products do not convert their operands, unlike arithmetic with + and *.",
                ("convert one of them: other.to(self.dtype)",),
            ),
            Form(
                r"Input type \((?P<a>.+?)\) and (?P<name>weight|bias) type \((?P<b>.+?)\) should",
                "the input is {a} and the {name} is {b}",
                "Layers do not convert their input. NumPy arrays are float64 unless told "
                "otherwise, parameters are float32.",
                ("convert the input with .float(), or the module with .double()",),
            ),
        ),
    ),
    Entry(
        "RG302",
        "device-not-available",
        "a device was asked for that is not available",
        (
            Form(
                r"Torch not compiled with CUDA enabled",
                "no CUDA device is available",
                None,
                (
                    'choose the device at run time: "cuda" if torch.cuda.is_available() else "cpu"',
                    "retrograd computes on the CPU only so far",
                ),
                "cuda",
            ),
            Form(
                r"Expected one of .* device type at start of device string: (?P<got>.*)",
                "there is no device type called {got}",
                None,
                (),
                "unknown",
            ),
        ),
        ("cuda", "unknown"),
    ),
    Entry(
        "RG303",
        "result-cannot-be-stored",
        "an in-place or out= result cannot be converted to the dtype of its target",
        (
            Form(
                r"result type (?P<a>\w+) can't be cast to the desired output type (?P<b>\w+)",
                "a {a} result cannot be stored in a {b} tensor",
                "An in-place operation keeps the dtype of the tensor it writes, and the result "
                "would lose its kind (fraction, sign or imaginary part).",
                (
                    "use the out-of-place operation: x = x + y instead of x += y",
                    "or make the target a floating point tensor first",
                ),
            ),
        ),
    ),
    Entry(
        "RG304",
        "dtype-not-supported",
        "an operation does not exist for this dtype",
        (
            Form(
                r"(?P<name>\w+)\(\): could not infer output dtype.* Got: (?P<dtype>\w+)",
                "{name}() needs a floating point tensor, got {dtype}",
                None,
                ("convert it first: tensor.float()",),
            ),
            Form(
                r'"(?P<name>[\w.]+)" not implemented for \'(?P<dtype>\w+)\'',
                "{name} does not exist for {dtype}",
                None,
                ("convert the operand first, for example with .float()",),
            ),
            Form(
                r"Integers to negative integer powers are not allowed",
                "a whole number was raised to a negative power",
                "The result would be a fraction.",
                ("convert the base first: tensor.float()",),
            ),
            Form(
                r"(Subtraction|Negation), the `-` operator, (with two|with a|on a) bool tensor",
                "- does not exist for booleans",
                None,
                (
                    "to invert a mask, use ~mask; to compare two, use a ^ b",
                    "to count with them, convert first: mask.float() or mask.long()",
                ),
                "boolean",
            ),
        ),
        ("boolean",),
    ),
    Entry(
        "RG305",
        "index-dtype",
        "indices or class targets must be whole numbers",
        (
            Form(
                r"tensors used as indices must be long, int, byte or bool tensors",
                "a tensor of fractions was used as an index",
                None,
                ("convert it with .long(); for a mask, compare it: mask > 0",),
            ),
            Form(
                r"(?P<name>\w+)\(\): Expected dtype int32/int64 for index",
                "{name}() needs whole numbers as its index",
                None,
                ("convert the index with .long()",),
            ),
            Form(
                r"Expected tensor for argument #1 'indices' to have one of the following scalar",
                "an embedding looks up whole numbers",
                None,
                ("convert the indices with .long()",),
            ),
            Form(
                r"expected target dtype to be Long or Byte, but got (?P<dtype>\w+)",
                "class targets must be whole numbers, got {dtype}",
                "cross_entropy() takes either class numbers (int64) or, in a target of the input's "
                "own shape, probabilities.",
                ("convert class numbers with .long()",),
            ),
        ),
    ),
)
