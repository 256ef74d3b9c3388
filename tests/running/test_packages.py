"""Packages written for PyTorch, under `retrograd run`: those that are installed here."""

import importlib.util
import os
import textwrap
from pathlib import Path

import pytest

from tests import forked

ROOT = Path(__file__).resolve().parents[2]

PROGRAMS = {
    "einops": """
        import torch
        from einops import rearrange, reduce, repeat
        from einops.layers.torch import EinMix, Rearrange, Reduce
        torch.manual_seed(0)
        x = torch.arange(64.0).reshape(1, 1, 8, 8).requires_grad_()
        print(rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)[0, 1, :3].tolist())
        small = reduce(x, "b c (h 2) (w 2) -> b c h w", "max")
        repeat(small, "b c h w -> b c (h k) w", k=2).sum().backward()
        print(small.flatten()[:3].tolist(), x.grad.sum().item())
        net = torch.nn.Sequential(Rearrange("b c h w -> b (c h w)"), Reduce("b d -> b", "mean"))
        print(net)
        print(net(x).tolist(), EinMix("b c h w -> b d", weight_shape="c d", c=1, d=2)(x).shape)
        """,
    "tqdm": """
        import io
        import torch
        from tqdm import tqdm
        loader = torch.utils.data.DataLoader(torch.arange(4), batch_size=2)
        print(sum(batch.sum().item() for batch in tqdm(loader, file=io.StringIO())))
        """,
    "torchdiffeq": """
        import torch
        from torchdiffeq import odeint, odeint_adjoint
        class Decay(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.rate = torch.nn.Parameter(torch.tensor(0.5))
            def forward(self, t, y):
                return -self.rate * y
        decay = Decay()
        times = torch.linspace(0, 2, 3)
        for solve in (odeint, odeint_adjoint):
            decay.zero_grad()
            end = solve(decay, torch.tensor([1.0]), times)[-1]
            end.sum().backward()
            print(f"{end.item():.4f} {decay.rate.grad.item():.3f}")
        """,
    "torchmetrics": """
        import torch, torchmetrics
        accuracy = torchmetrics.classification.MulticlassAccuracy(3, average="micro")
        accuracy.update(torch.tensor([0, 1, 2, 2]), torch.tensor([0, 1, 1, 2]))
        print(accuracy.compute())
        """,
    "safetensors": """
        import tempfile, os, torch
        from safetensors.torch import load_file, save_file
        path = os.path.join(tempfile.mkdtemp(), "weights")
        save_file({"a": torch.ones(2, dtype=torch.bfloat16), "b": torch.arange(3)}, path)
        print(dict(sorted(load_file(path).items())))
        """,
}
PRINTED = {
    "einops": """
        [4.0, 5.0, 6.0]
        [9.0, 11.0, 13.0] 32.0
        Sequential(
          (0): Rearrange('b c h w -> b (c h w)')
          (1): Reduce('b d -> b', 'mean')
        )
        [31.5] torch.Size([1, 2])
        """,
    "tqdm": "6\n",
    "torchdiffeq": "0.3679 -0.736\n0.3679 -0.736\n",
    "torchmetrics": "tensor(0.7500)\n",
    "safetensors": "{'a': tensor([1., 1.], dtype=torch.bfloat16), 'b': tensor([0, 1, 2])}\n",
}


def test_operators_of_a_compiled_part_refuse_when_called(tmp_path: Path) -> None:
    """A package goes on without its compiled part, and registers rules for its operators."""
    (tmp_path / "program.py").write_text(
        textwrap.dedent(
            """
            import torch
            try:
                torch.library.register_fake("early::crop")(len)
            except RuntimeError as error:
                print(error)
            try:
                torch.ops.load_library("/there/_C.so")
            except OSError:
                print("goes on")
            torch.library.register_fake("images::crop")(len)
            try:
                torch.ops.images.crop(torch.ones(1), size=2)
            except NotImplementedError as error:
                print(error)
            """
        )
    )
    command = ["-m", "retrograd", "run", "program.py"]
    done = forked.python(command, tmp_path, {**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.stdout.splitlines() == [
        "operator early::crop does not exist",
        "goes on",
        "images::crop is not supported by retrograd: it is compiled for PyTorch "
        "(refused: /there/_C.so)",
    ], done.stderr


@pytest.mark.parametrize("package", list(PROGRAMS))
def test_program_prints_what_it_prints_with_pytorch(package: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAMS[package]))
    command = ["-W", "ignore", "-m", "retrograd", "run", "program.py"]
    done = forked.python(command, tmp_path, {**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.stdout == textwrap.dedent(PRINTED[package]).lstrip("\n"), done.stderr
