"""Functions of tensors at several sizes: rows of `python -m benchmarks.ops`."""

from collections.abc import Callable
from typing import Any

from benchmarks.workloads.registry import filled
from benchmarks.workloads.single import SIZES, Made, Shape, Sizes, function_of, single, sizes

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
    "depthwise5": (16, 64, 64, 28, 5, 2, 1, 64),
    "depthwise_strided": (16, 64, 64, 28, 3, 1, 2, 64),
    "grouped": (16, 64, 64, 28, 3, 1, 1, 4),
    "five": (16, 32, 32, 28, 5, 2, 1, 1),
    "seven": (8, 3, 64, 64, 7, 3, 2, 1),
    "deep": (16, 256, 256, 7, 3, 1, 1, 1),
    "wide": (4, 64, 256, 56, 1, 0, 1, 1),
}

function_of("mul", lambda torch: torch.mul, 2)
function_of("add_number", lambda torch: lambda x: x + 1.5)
function_of("exp", lambda torch: torch.exp)
function_of("tanh", lambda torch: torch.tanh)
function_of("sigmoid", lambda torch: torch.sigmoid)
function_of("relu", lambda torch: torch.relu)
function_of("silu", lambda torch: torch.nn.functional.silu)
function_of("softplus", lambda torch: torch.nn.functional.softplus)
function_of("gelu", lambda torch: torch.nn.functional.gelu, more=["1024x512"])
function_of("gelu_tanh", lambda torch: lambda x: torch.nn.functional.gelu(x, approximate="tanh"))
function_of("softmax", lambda torch: lambda x: torch.softmax(x, -1), more=["16x4x64x64"])
function_of("log_softmax", lambda torch: lambda x: torch.log_softmax(x, -1))
function_of("softmax_first", lambda torch: lambda x: torch.softmax(x, 0))
function_of("sum", lambda torch: torch.sum)
function_of("sum_rows", lambda torch: lambda x: x.sum(0))
function_of("sum_last", lambda torch: lambda x: x.sum(-1))
function_of("mean_last", lambda torch: lambda x: x.mean(-1))


@single("add_bias")
def _add_bias(torch: Any, shape: Shape) -> Made:
    return torch.add, [filled(torch, *shape), filled(torch, shape[1])]


@single("layer_norm", {**SIZES, **sizes("1024x128")})
def _layer_norm(torch: Any, shape: Shape) -> Made:
    def function(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.layer_norm(x, shape[1:], weight, bias)

    return function, [filled(torch, *shape), filled(torch, shape[1]), filled(torch, shape[1])]


@single("rms_norm")
def _rms_norm(torch: Any, shape: Shape) -> Made:
    def function(x: Any, weight: Any) -> Any:
        return torch.nn.functional.rms_norm(x, shape[1:], weight)

    return function, [filled(torch, *shape), filled(torch, shape[1])]


@single("group_norm")
def _group_norm(torch: Any, shape: Shape) -> Made:
    def function(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.group_norm(x, channels // 4, weight, bias)

    channels = min(32, shape[1])
    image = filled(torch, shape[0], channels, shape[1] // channels)
    return function, [image, filled(torch, channels), filled(torch, channels)]


@single("cross_entropy")
def _cross_entropy(torch: Any, shape: Shape) -> Made:
    target = torch.arange(shape[0]) % shape[1]
    return lambda x: torch.nn.functional.cross_entropy(x, target), [filled(torch, *shape)]


@single("mse_loss")
def _mse_loss(torch: Any, shape: Shape) -> Made:
    target = filled(torch, *shape, scale=0.3)
    return lambda x: torch.nn.functional.mse_loss(x, target), [filled(torch, *shape)]


def _image(torch: Any, shape: tuple[int, ...]) -> Any:
    """Numbers of that many elements as (sample, channel, height, width)."""
    channels, side = {8: (4, 2), 512: (16, 8), 1024: (16, 32)}[shape[1]]
    return filled(torch, shape[0] * shape[1] // (channels * side * side), channels, side, side)


def _normalised(torch: Any, shape: Shape, training: bool) -> Made:
    """Batch norm of images, with running statistics."""
    image = _image(torch, shape)
    channels = image.shape[1]
    mean, variance = torch.zeros(channels), torch.ones(channels)

    def function(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.batch_norm(x, mean, variance, weight, bias, training=training)

    return function, [image, filled(torch, channels), filled(torch, channels)]


@single("sum_image")
def _sum_image(torch: Any, shape: Shape) -> Made:
    return lambda x: x.sum((0, 2, 3)), [_image(torch, shape)]


@single("sum_middle")
def _sum_middle(torch: Any, shape: Shape) -> Made:
    return lambda x: x.sum(1), [filled(torch, shape[0] // 4, 32, shape[1] // 8)]


single("batch_norm")(lambda torch, shape: _normalised(torch, shape, training=True))
single("batch_norm_eval")(lambda torch, shape: _normalised(torch, shape, training=False))


@single("batch_norm_1d")
def _batch_norm_1d(torch: Any, shape: Shape) -> Made:
    def function(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.batch_norm(x, None, None, weight, bias, training=True)

    x = filled(torch, shape[1], shape[0]).t().contiguous()
    return function, [x, filled(torch, shape[1]), filled(torch, shape[1])]


@single("embedding")
def _embedding(torch: Any, shape: Shape) -> Made:
    width, rows = max(8, shape[1] // 8), min(1000, 16 * shape[0])
    index = torch.arange(shape[0] * shape[1] // width) * 7 % rows
    return lambda table: torch.nn.functional.embedding(index, table), [filled(torch, rows, width)]


@single("gather")
def _gather(torch: Any, shape: Shape) -> Made:
    index = (torch.arange(shape[0])[:, None] + torch.arange(shape[1] // 2) * 3) % shape[1]
    return lambda x: x.gather(1, index), [filled(torch, *shape)]


@single("index_select")
def _index_select(torch: Any, shape: Shape) -> Made:
    index = torch.arange(shape[0]) * 3 % shape[0]
    return lambda x: x.index_select(0, index), [filled(torch, *shape)]


@single("index_add")
def _index_add(torch: Any, shape: Shape) -> Made:
    index = torch.arange(shape[0]) * 3 % 16
    return lambda x, y: x.index_add(0, index, y), [
        filled(torch, 16, shape[1]),
        filled(torch, *shape),
    ]


@single("scatter_add")
def _scatter_add(torch: Any, shape: Shape) -> Made:
    index = (torch.arange(shape[0])[:, None] + torch.arange(shape[1]) * 3) % shape[1]
    return lambda x, y: x.scatter_add(1, index, y), [filled(torch, *shape), filled(torch, *shape)]


@single("cat")
def _cat(torch: Any, shape: Shape) -> Made:
    return lambda x, y: torch.cat([x, y], 1), [filled(torch, *shape), filled(torch, *shape)]


function_of("view", lambda torch: lambda x: x.view(-1))
function_of("transpose", lambda torch: lambda x: x.transpose(0, 1))
function_of("select", lambda torch: lambda x: x[0])
function_of("max_last", lambda torch: lambda x: x.max(-1)[0])
function_of("amax_last", lambda torch: lambda x: x.amax(-1))
function_of("cumsum", lambda torch: lambda x: x.cumsum(-1))
function_of("var_last", lambda torch: lambda x: x.var(-1))
function_of("std_rows", lambda torch: lambda x: x.std(0))
function_of("mean", lambda torch: torch.mean)
function_of("sub_mean", lambda torch: lambda x: x - x.mean(-1, keepdim=True))
function_of("leaky_relu", lambda torch: torch.nn.functional.leaky_relu)
function_of("logsumexp", lambda torch: lambda x: x.logsumexp(-1))
function_of("norm", lambda torch: lambda x: x.norm())


@single("masked_fill", {**SIZES, **sizes("16x4x64x64")})
def _masked_fill(torch: Any, shape: Shape) -> Made:
    """Under a mask of the tensor's shape; of images of scores, under one that is broadcast."""
    covered = filled(torch, *shape[-2:]) > 0
    return lambda x: x.masked_fill(covered, -1.0), [filled(torch, *shape)]


@single("conv2d", IMAGES)
def _conv2d(torch: Any, shape: Shape) -> Made:
    samples, channels, outputs, size, kernel, padding, stride, groups = shape

    def function(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.conv2d(
            x, weight, bias, stride=stride, padding=padding, groups=groups
        )

    # small, so that what rounding leaves of sums of both signs stays below what is compared
    image = filled(torch, samples, channels, size, size, scale=0.01)
    weight = filled(torch, outputs, channels // groups, kernel, kernel, scale=0.01)
    return function, [image, weight, filled(torch, outputs, scale=0.01)]


def _convolution(
    op: str, samples: int, channels: int, outputs: int, sizes: tuple[int, ...], **options: int
) -> None:
    """An op like `conv1d`, with windows of three elements along each dimension."""
    transposed = "transpose" in op

    def make(torch: Any, shape: tuple[int, ...]) -> tuple[Callable[..., Any], list[Any]]:
        function = getattr(torch.nn.functional, op)
        ends = (channels, outputs) if transposed else (outputs, channels)
        image = filled(torch, *shape, scale=0.01)
        weight = filled(torch, *ends, *(3 for _ in sizes), scale=0.01)
        return lambda x, w: function(x, w, None, **options), [image, weight]

    single(op, {"x".join(map(str, sizes)): (samples, channels, *sizes)})(make)


_convolution("conv1d", 32, 64, 64, (128,), padding=1)
_convolution("conv3d", 8, 16, 32, (8, 8, 8), padding=1)
_convolution("conv_transpose1d", 16, 64, 32, (128,), stride=2, padding=1)
_convolution("conv_transpose2d", 16, 64, 32, (14, 14), stride=2, padding=1)
_convolution("conv_transpose3d", 2, 32, 16, (8, 8, 8), stride=2, padding=1)


def _of_images(op: str, find: Callable[[Any], Callable[..., Any]]) -> None:
    """An op on images of the sizes that convolutions leave, without their padding."""

    def make(torch: Any, shape: Shape) -> Made:
        return find(torch), [filled(torch, shape[0], shape[2], shape[3], shape[3])]

    single(op, {name: shape for name, shape in IMAGES.items() if name[-1] in "123"})(make)


_of_images("max_pool2d", lambda torch: lambda x: torch.nn.functional.max_pool2d(x, 2))
_of_images("max_pool2d_3", lambda torch: lambda x: torch.nn.functional.max_pool2d(x, 3, 2, 1))
_of_images("avg_pool2d", lambda torch: lambda x: torch.nn.functional.avg_pool2d(x, 2))
_of_images("adaptive_avg", lambda torch: lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 7))
