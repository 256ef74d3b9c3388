"""The models of `benchmarks.device`, written once for both libraries."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Model:
    """A model and the size of its batch."""

    name: str
    kind: str
    large: bool
    sizes: tuple[int, ...]
    batch: int


MODELS = [
    Model("MLP 64-128-128-8", "mlp", False, (64, 128, 128, 8), 64),
    Model("MLP 4096 x 3", "mlp", True, (4096, 4096, 4096, 4096), 4096),
    Model("CNN 28x28", "cnn", False, (1, 16, 32, 28, 10), 64),
    Model("CNN 64x64", "cnn", True, (3, 64, 128, 64, 100), 256),
    Model("GPT T64 c128", "gpt", False, (256, 64, 128, 4, 2), 8),
    Model("GPT T512 c768", "gpt", True, (8192, 512, 768, 12, 4), 8),
    Model("LSTM T32 h64", "lstm", False, (32, 32, 64, 10), 16),
    Model("LSTM T128 h1024", "lstm", True, (128, 512, 1024, 100), 64),
]


def make_inputs(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """A batch, and the classes that belong to it."""
    random = np.random.default_rng(0)
    sizes, batch = model.sizes, model.batch
    if model.kind == "gpt":
        vocabulary, length = sizes[:2]
        words = random.integers(0, vocabulary, (batch, length))
        return words, random.integers(0, vocabulary, batch * length)
    shape: tuple[int, ...] = (batch, *sizes[:2]) if model.kind == "lstm" else (batch, sizes[0])
    if model.kind == "cnn":
        shape = (*shape, sizes[3], sizes[3])
    made = random.standard_normal(shape).astype(np.float32)
    return made, random.integers(0, sizes[-1], batch)


def make_model(library: Any, model: Model) -> Any:
    """The model's module."""
    nn = library.nn
    functional = nn.functional

    class Convolutions(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, colours: int, first: int, second: int, side: int, classes: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(colours, first, 3, padding=1)
            self.second = nn.Conv2d(first, second, 3, padding=1)
            self.last = nn.Linear(second * (side // 4) ** 2, classes)

        def forward(self, x: Any) -> Any:
            for layer in (self.first, self.second):
                x = functional.max_pool2d(functional.relu(layer(x)), 2)
            return self.last(x.flatten(1))

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.mixed, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            batch, length, width = x.shape
            parts = self.mixed(self.before(x)).split(width, 2)
            shape = (batch, length, self.heads, width // self.heads)
            query, key, value = [part.view(shape).transpose(1, 2) for part in parts]
            found = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.joined(found.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(functional.gelu(self.up(self.between(x))))

    class Words(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, words: int, length: int, width: int, heads: int, blocks: int) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block(width, heads) for _ in range(blocks)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
            self.register_buffer("order", library.arange(length))

        def forward(self, x: Any) -> Any:
            x = self.words(x) + self.places(self.order)
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    class Sequence(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, length: int, width: int, hidden: int, classes: int) -> None:
            super().__init__()
            self.steps = nn.LSTM(width, hidden, batch_first=True)
            self.last = nn.Linear(hidden, classes)

        def forward(self, x: Any) -> Any:
            return self.last(self.steps(x)[0][:, -1])

    if model.kind == "mlp":
        layers: list[Any] = []
        for width, wider in zip(model.sizes, model.sizes[1:], strict=False):
            layers += [nn.Linear(width, wider), nn.ReLU()]
        return nn.Sequential(*layers[:-1])
    makers: dict[str, Any] = {"cnn": Convolutions, "gpt": Words, "lstm": Sequence}
    return makers[model.kind](*model.sizes)
