"""Epochs of a `DataLoader`: what `python -m benchmarks.loading` measures."""

from collections.abc import Callable
from typing import Any

from benchmarks.workloads.registry import Prepared, Workload, plain

LOADING: dict[str, Workload] = {}

Items = Callable[[Any], Any]
"""Makes a dataset for a module."""


def _register(name: str, title: str, items: Items, size: int, workers: int) -> None:
    def prepare(torch: Any) -> Prepared:
        options: dict[str, Any] = {"persistent_workers": True} if workers else {}
        loader = torch.utils.data.DataLoader(
            items(torch), batch_size=size, num_workers=workers, **options
        )

        def epoch() -> Any:
            seen = 0
            for batch in loader:
                seen += len(batch[0])
            return batch[0][:2] * seen

        return Prepared(epoch, [])

    more = f", {workers} workers" if workers else ""
    LOADING[name] = Workload(name, f"{title}, batches of {size}{more}", prepare)


def _tensors(torch: Any) -> Any:
    return torch.utils.data.TensorDataset(
        torch.from_numpy(plain(4096, 32)), torch.arange(4096) % 10
    )


def _images(size: int, count: int) -> Items:
    """Pictures that are made from bytes, as those are that were read from files."""

    def make(torch: Any) -> Any:
        kept = (plain(8, 3, size, size, scale=10.0) + 127).astype("uint8")

        class Images(torch.utils.data.Dataset):  # type: ignore[misc]
            def __len__(self) -> int:
                return count

            def __getitem__(self, index: int) -> Any:
                return torch.from_numpy(kept[index % 8]).to(torch.float32) / 255, index % 10

        return Images()

    return make


def _texts(torch: Any) -> Any:
    """Lists of numbers, as tokenizers return them, of one length."""
    kept = [[index * place * 31 % 997 for place in range(128)] for index in range(64)]

    class Texts(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 1024

        def __getitem__(self, index: int) -> Any:
            tokens = torch.tensor(kept[index % 64])
            return tokens, {"mask": torch.ones_like(tokens), "length": 128, "name": str(index)}

    return Texts()


for _workers in (0, 2):
    _end = f"_{_workers}_workers" if _workers else ""
    _register(f"load_tensors{_end}", "4096 rows of a TensorDataset", _tensors, 64, _workers)
    _register(f"load_texts{_end}", "1024 tokenized texts with a dict", _texts, 32, _workers)
    _register(f"load_images{_end}", "256 images of 64 x 64", _images(64, 256), 32, _workers)
    _register(f"load_large{_end}", "128 images of 224 x 224", _images(224, 128), 32, _workers)
