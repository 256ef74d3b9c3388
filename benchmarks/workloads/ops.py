"""Single ops at several sizes, forward and with backward: rows of `python -m benchmarks.ops`."""

from collections.abc import Callable
from typing import Any

from benchmarks.workloads.registry import Prepared, Workload, filled

Sizes = dict[str, tuple[int, ...]]
SIZES: Sizes = {"64x512": (64, 512), "1024x1024": (1024, 1024)}
# samples, channels, outputs, size of the square images, of the kernel, padding, stride, groups
IMAGES: Sizes = {
    "lenet1": (64, 1, 6, 28, 5, 2, 1, 1),
    "lenet2": (64, 6, 16, 14, 5, 0, 1, 1),
    "small1": (64, 3, 32, 32, 3, 1, 1, 1),
    "small2": (64, 32, 64, 16, 3, 1, 1, 1),
    "small3": (64, 64, 64, 8, 3, 1, 1, 1),
    "pointwise": (16, 64, 128, 14, 1, 0, 1, 1),
    "strided": (16, 64, 128, 28, 3, 1, 2, 1),
    "depthwise": (16, 64, 64, 28, 3, 1, 1, 64),
}
FORMS = ("forward", "both")
"""A call that is recorded, and the call with `backward` of its result."""

Maker = Callable[[Any, tuple[int, ...]], tuple[Callable[..., Any], list[Any]]]
"""The function to call and its leaves, for one of the op's sizes."""

SINGLE_OPS: dict[str, Sizes] = {}
"""The sizes of each op."""
OPS: dict[str, Workload] = {}


def named(op: str, size: str, form: str) -> str:
    return f"{op} {size} {form}"


def _prepare(make: Maker, shape: tuple[int, ...], form: str) -> Callable[[Any], Prepared]:
    def prepare(torch: Any) -> Prepared:
        function, leaves = make(torch, shape)
        for leaf in leaves:
            leaf.requires_grad_()
        result = function(*leaves)
        gradient = filled(torch, *result.shape, scale=0.001 if result.ndim == 4 else 0.1)

        def forward() -> Any:
            return function(*leaves)

        def both() -> Any:
            for leaf in leaves:
                leaf.grad = None
            found = function(*leaves)
            found.backward(gradient)
            return found

        return Prepared(forward if form == "forward" else both, leaves)

    return prepare


def single(op: str, sizes: Sizes = SIZES) -> Callable[[Maker], Maker]:
    """Register an op at every size, in both forms."""

    def register(make: Maker) -> Maker:
        SINGLE_OPS[op] = sizes
        for size, shape in sizes.items():
            for form in FORMS:
                name = named(op, size, form)
                OPS[name] = Workload(name, f"{op} of {size}", _prepare(make, shape, form))
        return make

    return register


def _elementwise(op: str, find: Callable[[Any], Callable[..., Any]], tensors: int = 1) -> None:
    def make(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
        return find(torch), [filled(torch, *shape, scale=s) for s in (0.5, 0.3)[:tensors]]

    single(op)(make)


_elementwise("mul", lambda torch: torch.mul, 2)
_elementwise("add_number", lambda torch: lambda x: x + 1.5)
_elementwise("exp", lambda torch: torch.exp)
_elementwise("tanh", lambda torch: torch.tanh)
_elementwise("sigmoid", lambda torch: torch.sigmoid)
_elementwise("relu", lambda torch: torch.relu)
_elementwise("silu", lambda torch: torch.nn.functional.silu)
_elementwise("softplus", lambda torch: torch.nn.functional.softplus)
_elementwise("gelu", lambda torch: torch.nn.functional.gelu)
_elementwise("gelu_tanh", lambda torch: lambda x: torch.nn.functional.gelu(x, approximate="tanh"))
_elementwise("softmax", lambda torch: lambda x: torch.softmax(x, -1))
_elementwise("log_softmax", lambda torch: lambda x: torch.log_softmax(x, -1))
_elementwise("softmax_first", lambda torch: lambda x: torch.softmax(x, 0))
_elementwise("sum", lambda torch: torch.sum)
_elementwise("sum_rows", lambda torch: lambda x: x.sum(0))
_elementwise("sum_last", lambda torch: lambda x: x.sum(-1))
_elementwise("mean_last", lambda torch: lambda x: x.mean(-1))


@single("add_bias")
def _add_bias(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    return torch.add, [filled(torch, *shape), filled(torch, shape[1])]


@single("layer_norm")
def _layer_norm(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    def function(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.layer_norm(x, shape[1:], weight, bias)

    return function, [filled(torch, *shape), filled(torch, shape[1]), filled(torch, shape[1])]


@single("rms_norm")
def _rms_norm(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    def function(x: Any, weight: Any) -> Any:
        return torch.nn.functional.rms_norm(x, shape[1:], weight)

    return function, [filled(torch, *shape), filled(torch, shape[1])]


@single("group_norm")
def _group_norm(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    def function(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.group_norm(x, 8, weight, bias)

    image = filled(torch, shape[0], 32, shape[1] // 32)
    return function, [image, filled(torch, 32), filled(torch, 32)]


@single("cross_entropy")
def _cross_entropy(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    target = torch.arange(shape[0]) % shape[1]
    return lambda x: torch.nn.functional.cross_entropy(x, target), [filled(torch, *shape)]


@single("mse_loss")
def _mse_loss(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    target = filled(torch, *shape, scale=0.3)
    return lambda x: torch.nn.functional.mse_loss(x, target), [filled(torch, *shape)]


def _image(torch: Any, shape: tuple[int, ...]) -> Any:
    """Numbers of that many elements as (sample, channel, height, width)."""
    side = 8 if shape[1] < 1024 else 32
    return filled(torch, shape[0] * shape[1] // (16 * side * side), 16, side, side)


@single("sum_image")
def _sum_image(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    return lambda x: x.sum((0, 2, 3)), [_image(torch, shape)]


@single("sum_middle")
def _sum_middle(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    return lambda x: x.sum(1), [filled(torch, shape[0] // 4, 32, shape[1] // 8)]


@single("batch_norm")
def _batch_norm(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    mean, variance = torch.zeros(16), torch.ones(16)

    def function(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.batch_norm(x, mean, variance, weight, bias, training=True)

    return function, [_image(torch, shape), filled(torch, 16), filled(torch, 16)]


@single("batch_norm_eval")
def _batch_norm_eval(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    mean, variance = torch.zeros(16), torch.ones(16)

    def function(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.batch_norm(x, mean, variance, weight, bias)

    return function, [_image(torch, shape), filled(torch, 16), filled(torch, 16)]


@single("batch_norm_1d")
def _batch_norm_1d(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    def function(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.batch_norm(x, None, None, weight, bias, training=True)

    x = filled(torch, shape[1], shape[0]).t().contiguous()
    return function, [x, filled(torch, shape[1]), filled(torch, shape[1])]


@single("embedding")
def _embedding(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    index = torch.arange(shape[0] * 8) * 7 % 1000
    return lambda table: torch.nn.functional.embedding(index, table), [
        filled(torch, 1000, shape[1] // 8)
    ]


@single("gather")
def _gather(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    index = (torch.arange(shape[0])[:, None] + torch.arange(shape[1] // 2) * 3) % shape[1]
    return lambda x: x.gather(1, index), [filled(torch, *shape)]


@single("index_select")
def _index_select(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    index = torch.arange(shape[0]) * 3 % shape[0]
    return lambda x: x.index_select(0, index), [filled(torch, *shape)]


@single("index_add")
def _index_add(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    index = torch.arange(shape[0]) * 3 % 16
    return lambda x, y: x.index_add(0, index, y), [
        filled(torch, 16, shape[1]),
        filled(torch, *shape),
    ]


@single("scatter_add")
def _scatter_add(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    index = (torch.arange(shape[0])[:, None] + torch.arange(shape[1]) * 3) % shape[1]
    return lambda x, y: x.scatter_add(1, index, y), [filled(torch, *shape), filled(torch, *shape)]


@single("cat")
def _cat(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    return lambda x, y: torch.cat([x, y], 1), [filled(torch, *shape), filled(torch, *shape)]


_elementwise("max_last", lambda torch: lambda x: x.max(-1)[0])
_elementwise("amax_last", lambda torch: lambda x: x.amax(-1))
_elementwise("cumsum", lambda torch: lambda x: x.cumsum(-1))
_elementwise("var_last", lambda torch: lambda x: x.var(-1))
_elementwise("std_rows", lambda torch: lambda x: x.std(0))
_elementwise("mean", lambda torch: torch.mean)
_elementwise("sub_mean", lambda torch: lambda x: x - x.mean(-1, keepdim=True))
_elementwise("leaky_relu", lambda torch: torch.nn.functional.leaky_relu)
_elementwise("logsumexp", lambda torch: lambda x: x.logsumexp(-1))
_elementwise("norm", lambda torch: lambda x: x.norm())


@single("clip_grad_norm")
def _clip_grad_norm(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    parameters = [filled(torch, *shape) for _ in range(4)]
    for parameter in parameters:
        parameter.grad = filled(torch, *shape, scale=1e-6)
    clip = torch.nn.utils.clip_grad_norm_

    def function(x: Any) -> Any:
        clip(parameters, 1.0)
        return x

    return function, [filled(torch, 1)]


@single("conv2d", IMAGES)
def _conv2d(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
    samples, channels, outputs, size, kernel, padding, stride, groups = shape

    def function(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.conv2d(
            x, weight, bias, stride=stride, padding=padding, groups=groups
        )

    # small, so that what rounding leaves of sums of both signs stays below what is compared
    image = filled(torch, samples, channels, size, size, scale=0.01)
    weight = filled(torch, outputs, channels // groups, kernel, kernel, scale=0.01)
    return function, [image, weight, filled(torch, outputs, scale=0.01)]


def _of_images(op: str, find: Callable[[Any], Callable[..., Any]]) -> None:
    """An op on images of the sizes that convolutions leave, without their padding."""

    def make(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
        return find(torch), [filled(torch, shape[0], shape[2], shape[3], shape[3])]

    single(op, {name: shape for name, shape in IMAGES.items() if name[-1].isdigit()})(make)


_of_images("max_pool2d", lambda torch: lambda x: torch.nn.functional.max_pool2d(x, 2))
_of_images("max_pool2d_3", lambda torch: lambda x: torch.nn.functional.max_pool2d(x, 3, 2, 1))
_of_images("avg_pool2d", lambda torch: lambda x: torch.nn.functional.avg_pool2d(x, 2))
_of_images("adaptive_avg", lambda torch: lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 7))
