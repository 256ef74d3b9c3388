"""Random numbers on a device: what is drawn, and how the result is written down.

The table `draws.json` has PyTorch's results on one kind of GPU. It is written there by
``python -m tests.cuda.draws FILE``, which needs real PyTorch; `test_draws.py` compares with it, and
so does, on a device, ``python -m tests.cuda.draws --check FILE``.
"""

from __future__ import annotations

import base64
import json
import sys
import warnings
import zlib

import numpy as np

KEPT = 48  # elements of each result that are in the table; a checksum has them all
FLOATS = ("float32", "float64", "float16", "bfloat16")
WHOLE = ("int64", "int32", "int16", "int8", "uint8", "bool")


def cases():
    """By name: a seed, and expressions that are evaluated one after the other."""
    found = {}

    def add(name, *expressions, seed=42):
        found[name] = (seed, expressions)

    one_of_each_size = (1, 5, 256, 257, 1000, 4096, 100_000, 300_000, 1_081_345, 3_000_001)
    for function in ("rand", "randn"):
        add(f"{function} sizes", *(f"torch.{function}({n}, device=D)" for n in one_of_each_size))
        add(
            f"{function} dtypes",
            *(f"torch.{function}(501, dtype=torch.{d}, device=D)" for d in FLOATS),
            *(f"torch.{function}(33, dtype=torch.complex{n}, device=D)" for n in (64, 128)),
            f"torch.{function}(700_001, dtype=torch.float64, device=D)",
            seed=7,
        )
        add(
            f"{function} layouts",
            f"torch.{function}(3, 5, 7, device=D)",
            f"torch.{function}_like(torch.empty(5, 3, device=D).t())",
            f"torch.{function}_like(torch.empty(2, 3, 4, 5, device=D)"
            ".to(memory_format=torch.channels_last))",
            seed=3,
        )
    method = {"rand": "uniform_(-2, 3)", "randn": "normal_(2, 3)"}
    for call in method.values():
        add(
            f"{call} dtypes",
            *(f"torch.empty(333, dtype=torch.{d}, device=D).{call}" for d in FLOATS),
        )
        add(
            f"{call} strides",
            f"torch.empty(5, 7, device=D).t().{call}",
            f"torch.zeros(24, device=D)[::3].{call}",
            f"torch.zeros(4, 6, device=D)[:, 1:4].{call}",
            f"torch.zeros(2, 3, 4, device=D).permute(1, 2, 0).{call}",
        )
    add(
        "uniform_ bounds",
        "torch.empty(99, device=D).uniform_(0.1, 0.10001)",
        "torch.empty(99, device=D).uniform_(-1e30, 1e30)",
        "torch.empty(99, dtype=torch.float16, device=D).uniform_(1, 1.01)",
        "torch.empty(99, dtype=torch.bfloat16, device=D).uniform_(-100, 3)",
    )
    add("seed 0", "torch.rand(3, device=D)", "torch.randn(3, device=D)", seed=0)
    add("seed -1", "torch.rand(3, device=D)", "torch.randn(3, device=D)", seed=-1)
    add("seed 2**63", "torch.rand(3, device=D)", "torch.randn(3, device=D)", seed=2**63 + 11)
    add("normal of tensors", *(
        "torch.normal(torch.arange(9., device=D), 2.0)",
        "torch.normal(1.0, torch.arange(1., 9., device=D))",
        "torch.normal(torch.arange(8., device=D), torch.arange(8., device=D))",
        "torch.normal(1.0, 2.0, (5,), device=D)",
        "torch.randn(3, device=D)",
    ))  # fmt: skip
    add(
        "randint",
        *(f"torch.randint(10, ({n},), device=D)" for n in (6, 1000, 300_000, 1_100_000)),
        "torch.randint(-5, 100, (77,), device=D)",
        *(f"torch.randint(2**{n} - 1, (77,), device=D)" for n in (27, 28, 29, 31, 32, 33, 62)),
        *(f"torch.randint(2**{n}, (77,), device=D)" for n in (27, 28, 29, 31, 32, 33, 62)),
        *(f"torch.randint(2**30, (77,), dtype=torch.{d}, device=D)" for d in ("int32", "float32")),
        *(f"torch.randint(100, (77,), dtype=torch.{d}, device=D)" for d in FLOATS + WHOLE[:5]),
        "torch.randint(0, 2, (77,), dtype=torch.bool, device=D)",
        "torch.randint_like(torch.empty(3, 4, device=D), 5)",
        "torch.randint(3, (5, 7), device=D)",
    )
    add(
        "random_",
        *(f"torch.empty(77, dtype=torch.{d}, device=D).random_()" for d in FLOATS + WHOLE),
        *(f"torch.empty(77, dtype=torch.{d}, device=D).random_(5, 9)" for d in FLOATS + WHOLE[:5]),
        "torch.empty(77, dtype=torch.int64, device=D).random_(-(2**63), None)",
        "torch.empty(77, dtype=torch.int64, device=D).random_(3, None)",
        "torch.empty(77, dtype=torch.float32, device=D).random_(3, None)",
        "torch.empty(7, 11, dtype=torch.int32, device=D).t().random_(100)",
    )
    for seed in (1, 2, 3):
        add(
            f"randperm seed {seed}",
            *(f"torch.randperm({n}, device=D)" for n in (0, 1, 2, 5, 6, 100, 1000, 5000, 50_000)),
            *(f"torch.randperm({n}, device=D)" for n in (300_000,)),
            *(f"torch.randperm(100, dtype=torch.{d}, device=D)" for d in FLOATS[:3] + WHOLE[:5]),
            "torch.rand(3, device=D)",
            seed=seed,
        )

    def chances(count, dtype="float32"):
        return f"torch.linspace(0, 1, {count}, dtype=torch.{dtype}, device=D)"

    add(
        "bernoulli",
        *(f"torch.bernoulli({chances(n)})" for n in (1, 7, 1000, 300_001)),
        *(f"torch.bernoulli({chances(101, d)})" for d in FLOATS),
        f"torch.bernoulli({chances(100)}.view(10, 10).t())",
        "torch.bernoulli(torch.full((9,), 0.5, device=D), 0.25)",
        *(f"torch.empty(99, dtype=torch.{d}, device=D).bernoulli_(0.3)" for d in FLOATS + WHOLE),
        f"torch.empty(99, dtype=torch.int64, device=D).bernoulli_({chances(99)})",
        f"torch.empty(99, dtype=torch.float64, device=D).bernoulli_({chances(99, 'float64')})",
        f"torch.empty(5, 9, device=D).t().bernoulli_({chances(45)}.view(9, 5))",
        "torch.empty(1_100_001, device=D).bernoulli_(0.7)",
    )
    for call in ("exponential_()", "exponential_(2.5)", "cauchy_()", "cauchy_(1, 2)",
                 "log_normal_()", "log_normal_(0, 0.5)", "geometric_(0.3)"):  # fmt: skip
        add(call, *(f"torch.empty(555, dtype=torch.{d}, device=D).{call}" for d in FLOATS))
    add("geometric_ of integers", *(
        f"torch.empty(99, dtype=torch.{d}, device=D).geometric_(0.1)" for d in WHOLE[:5]
    ))  # fmt: skip
    ones = "torch.ones({n}, dtype=torch.{d}, device=D)"
    sizes = (1, 2, 4, 5, 6, 8, 10, 16, 250, 999, 1000, 1004, 1022, 4096, 100_000)
    big = (1_081_346, 1_081_345, 2_000_000)
    for d in FLOATS:
        many = [f"F.dropout({ones.format(n=n, d=d)}, 0.5)" for n in sizes + big]
        rare = f"F.dropout({ones.format(n=1000, d=d)}, 0.1)"
        often = f"F.dropout({ones.format(n=998, d=d)}, 0.9)"
        add(f"dropout {d}", *many, rare, often, seed=5)
    add(
        "dropout layouts",
        "F.dropout(torch.ones(8, 12, device=D).t(), 0.5)",
        "F.dropout(torch.ones(40, device=D)[::2], 0.5)",
        "F.dropout(torch.ones(41, device=D)[1:], 0.5)",
        "F.dropout(torch.ones(2, 3, 4, 8, device=D).to(memory_format=torch.channels_last), 0.5)",
        "F.dropout(torch.ones(4, 1, device=D).expand(4, 6), 0.5)",
        "F.dropout(torch.ones(9, device=D), 0.0)",
        "F.dropout(torch.ones(9, device=D), 1.0)",
        "torch.rand(3, device=D)",
        "F.dropout(torch.ones(0, device=D), 0.5)",
        "torch.rand(3, device=D)",
        "F.dropout(torch.ones(16, device=D), 0.5, True, True)",
        "torch.native_dropout(torch.ones(16, device=D), 0.5, True)[1]",
        "F.dropout1d(torch.ones(3, 5, 2, device=D), 0.5)",
        "F.dropout2d(torch.ones(3, 5, 2, 2, device=D), 0.3)",
        "F.alpha_dropout(torch.ones(33, device=D), 0.4, True)",
        "F.feature_alpha_dropout(torch.ones(3, 5, 2, device=D), 0.4, True)",
        "F.rrelu(-torch.ones(33, device=D), 0.1, 0.3, True)",
    )
    weights = "torch.arange(1., {n}., device=D)"
    add(
        "multinomial",
        f"torch.multinomial({weights.format(n=11)}, 1)",
        f"torch.multinomial({weights.format(n=11)}, 4)",
        f"torch.multinomial({weights.format(n=11)}, 1, True)",
        f"torch.multinomial({weights.format(n=11)}, 50, True)",
        f"torch.multinomial({weights.format(n=101)}, 1000, True)",
        f"torch.multinomial({weights.format(n=61)}.view(6, 10), 1)",
        f"torch.multinomial({weights.format(n=61)}.view(6, 10), 3)",
        f"torch.multinomial({weights.format(n=61)}.view(6, 10), 7, True)",
        f"torch.multinomial({weights.format(n=61)}.double().view(6, 10), 7, True)",
        f"torch.multinomial({weights.format(n=61)}.double().view(6, 10), 2)",
        "torch.rand(3, device=D)",
        "torch.distributions.Categorical(torch.tensor([.1, .2, .7], device=D)).sample((9,))",
        "torch.distributions.Normal(torch.zeros(3, device=D), 1.).sample((2,))",
        "F.gumbel_softmax(torch.arange(12., device=D).view(3, 4))",
    )
    add(
        "other distributions",
        "torch.poisson(torch.linspace(0.1, 90, 99, device=D))",
        "torch.rand(1, device=D)",
        "torch.binomial(torch.full((33,), 20., device=D), torch.full((33,), 0.3, device=D))",
        "torch.rand(1, device=D)",
        "torch._standard_gamma(torch.linspace(0.1, 9, 33, device=D))",
        "torch.rand(1, device=D)",
        "torch._sample_dirichlet(torch.linspace(0.1, 9, 30, device=D).view(3, 10))",
        "torch.rand(1, device=D)",
    )
    initial = "nn.init.{f}(torch.empty(20, 30, device=D))"
    names = (
        "kaiming_uniform_",
        "kaiming_normal_",
        "xavier_uniform_",
        "xavier_normal_",
        "trunc_normal_",
    )
    add("initial values", *(initial.format(f=f) for f in names), "nn.Linear(5, 7, device=D).weight",
        "nn.Embedding(5, 7, device=D).weight", seed=11)  # fmt: skip
    return found


def positions(count):
    """Which elements of a flat result are kept."""
    if count <= KEPT:
        return np.arange(count)
    third = KEPT // 3
    spread = np.arange(third, dtype=np.uint64) * np.uint64(2654435761) % np.uint64(count)
    return np.unique(
        np.concatenate([np.arange(third), spread.astype(int), count - 1 - np.arange(third)])
    )


def written(array, offset):
    """A result as the table has it: NumPy's array of bits, and the generator's offset after it."""
    flat = np.ascontiguousarray(array).reshape(-1)
    kept = flat[positions(flat.size)]
    return {
        "dtype": flat.dtype.name,
        "shape": list(array.shape),
        "offset": offset,
        "crc": zlib.crc32(flat.tobytes()),
        "bits": base64.b64encode(kept.tobytes()).decode(),
    }


def bits_of(torch, tensor):
    """A tensor as an array that any NumPy knows: bfloat16 as its bits."""
    tensor = tensor.detach().cpu().contiguous()
    return (tensor.view(torch.int16) if tensor.dtype is torch.bfloat16 else tensor).numpy()


# What needs a logarithm or a sine is rounded otherwise by the definition in NumPy than by a device.
ROUNDED = """
    normal_ randn normal exponential_ cauchy_ log_normal_ distributions.Normal gumbel_softmax
    kaiming_normal_ xavier_normal_ nn.Embedding multinomial Categorical geometric_
""".split()
# These are drawn by another algorithm; `trunc_normal_` is PyTorch 2.13's, the table is of 2.11.
OTHER_NUMBERS = "poisson", "binomial", "_standard_gamma", "_sample_dirichlet", "trunc_normal_"


def differs(call, found, expected, rounded):
    """In what a result is not that of the table; nothing where it is.

    rounded  whether numbers that take a logarithm or a sine may differ in their last bits
    """
    if "error" in found or "error" in expected:
        return "" if "error" in found and "error" in expected else f"{found} / {expected}"[:200]
    others = any(f".{name}(" in call for name in OTHER_NUMBERS)
    for fact in ("dtype", "shape", *(() if others else ("offset",))):
        if found[fact] != expected[fact]:
            return f"{fact} {found[fact]}, not {expected[fact]}"
    if found["crc"] == expected["crc"] or others:
        return ""
    ours, theirs = (
        np.frombuffer(base64.b64decode(x["bits"]), x["dtype"]) for x in (found, expected)
    )
    if "bfloat16" in call:
        ours, theirs = ((x.astype(np.uint32) << 16).view(np.float32) for x in (ours, theirs))
    softmax = "gumbel_softmax" in call  # sums and exponentials of another kernel
    if not softmax and (not rounded or not any(name in call for name in ROUNDED)):
        return f"{int((ours != theirs).sum())} of {ours.size} elements"
    if ours.dtype.kind == "c":
        ours, theirs = (x.view(x.real.dtype) for x in (ours, theirs))
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    if "multinomial" in call or "Categorical" in call or "geometric_" in call:
        rare = int((ours != theirs).sum())
        return f"{rare} of {ours.size} choices" if rare > 1 else ""
    loose = {"float16": 2e-3, "int16": 2e-2}.get(found["dtype"], 2e-5)
    far = np.abs(ours - theirs) / (np.abs(theirs) * loose + loose)
    far = far[np.abs(theirs) < 1e3]  # a tangent near its pole
    return f"{far.max():.1f} times as far as allowed" if far.size and far.max() > 1 else ""


def compare(table, rounded):
    """The calls whose results are not those of the table, and how many were made."""
    import retrograd as torch
    from retrograd.random.cuda import CudaGenerator

    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "D": "cuda"}
    generator = CudaGenerator.default()
    wrong, count = [], 0
    for name, (seed, expressions) in cases().items():
        torch.manual_seed(seed)
        for expression, expected in zip(expressions, table["results"][name], strict=True):
            count += 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of numbers that float32 does not hold
                    value = eval(expression, names)
                found = written(bits_of(torch, value), generator.get_offset())
            except Exception as error:
                found = {"error": f"{type(error).__name__}: {error}"}
            problem = differs(expression, found, expected, rounded)
            if problem:
                wrong.append(f"{name}: {expression}: {problem}")
            if "offset" in expected:
                generator.set_offset(expected["offset"])  # so that each call is judged by itself
    return wrong, count


def main(target):
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    names = {"torch": torch, "nn": nn, "F": F, "D": "cuda"}
    torch.cuda.init()  # before, there are no generators
    generator = torch.cuda.default_generators[0]
    facts = torch.cuda.get_device_properties(0)
    table = {
        "device": facts.name,
        "multiprocessors": facts.multi_processor_count,
        "threads": facts.max_threads_per_multi_processor,
        "torch": torch.__version__,
        "results": {},
    }
    for name, (seed, expressions) in cases().items():
        torch.manual_seed(seed)
        rows = table["results"][name] = []
        for expression in expressions:
            try:
                found = written(bits_of(torch, eval(expression, names)), generator.get_offset())
            except Exception as error:  # in the table too: the call is refused
                found = {"error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
                print(expression, found["error"][:150])
            rows.append({"call": expression, **found})
    with open(target, "w") as file:
        json.dump(table, file, indent=0)
    print(f"{sum(map(len, table['results'].values()))} results of {facts.name} in {target}")


def check(file):
    """Draw on the device, and print what is not as in a table of the same kind of device."""
    with open(file) as opened:
        wrong, count = compare(json.load(opened), False)
    print(f"{count - len(wrong)} of {count} results are those of {file}")
    print(*wrong, sep="\n")


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        check(sys.argv[2])
    else:
        main(sys.argv[1])
