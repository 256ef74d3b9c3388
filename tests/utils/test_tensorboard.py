"""SummaryWriter: what is written can be read back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd as torch
import retrograd.utils.tensorboard


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        torch.utils.tensorboard.SummaryWriter  # noqa: B018
    first, second = str(caught.value).split("\n")
    assert first == "No module named 'tensorboard'"
    assert second.endswith("pip install tensorboard")
    with pytest.raises(ImportError, match="pip install tensorboard"):
        from retrograd.utils.tensorboard import SummaryWriter  # noqa: F401


class TestWithThePackage:
    @pytest.fixture(autouse=True)
    def _package(self) -> None:
        pytest.importorskip("tensorboard")

    @staticmethod
    def read(folder: Path) -> dict[str, list[tuple[int, Any]]]:
        from tests.utils.tensorboard_calls import read_log

        found: dict[str, list[tuple[int, Any]]] = {}
        for place, step, message in read_log(folder):
            for value in message.value:
                name = value.tag if place == "." else f"{place}:{value.tag}"
                found.setdefault(name, []).append((step, value))
        return found

    def test_a_training_run(self, tmp_path: Path) -> None:
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with torch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
            losses = []
            for step in range(5):
                loss = model(torch.ones(3, 2)).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("loss", loss, step)
                writer.add_histogram("weight", model.weight, step)
                losses.append(loss.item())
            writer.add_scalars("both", {"first": losses[0], "last": losses[-1]}, 5)
            writer.add_text("note", "done")
        found = self.read(tmp_path)
        assert [step for step, _ in found["loss"]] == list(range(5))
        assert [value.simple_value for _, value in found["loss"]] == pytest.approx(losses)
        assert [value.histo.num for _, value in found["weight"]] == [2.0] * 5
        assert found["both_last:both"][0][1].simple_value == pytest.approx(losses[-1])
        assert found["note/text_summary"][0][1].tensor.string_val == [b"done"]

    def test_histogram_counts(self, tmp_path: Path) -> None:
        with torch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
            writer.add_histogram("h", torch.tensor([0.5, 0.6, 2.5]), bins=[0.0, 1.0, 2.0, 3.0, 4.0])
        ((_, value),) = self.read(tmp_path)["h"]
        assert list(value.histo.bucket) == [0, 2, 0, 1]
        assert list(value.histo.bucket_limit) == [0.0, 1.0, 2.0, 3.0]
        assert (value.histo.min, value.histo.max) == pytest.approx((0.5, 2.5))

    def test_image(self, tmp_path: Path) -> None:
        import io

        from PIL import Image

        picture = torch.tensor([[0.0, 1.0], [0.5, 2.0]])
        with torch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
            writer.add_image("i", picture, dataformats="HW")
        ((_, value),) = self.read(tmp_path)["i"]
        shown = np.array(Image.open(io.BytesIO(value.image.encoded_image_string)))
        assert shown[:, :, 0].tolist() == [[0, 255], [127, 255]] and shown.shape == (2, 2, 3)

    def test_video(self, tmp_path: Path) -> None:
        import io

        from PIL import Image

        film = torch.zeros(1, 3, 3, 4, 5)
        film[0, 1] = 1.0
        with torch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
            writer.add_video("v", film, fps=2)
        ((_, value),) = self.read(tmp_path)["v"]
        shown = Image.open(io.BytesIO(value.image.encoded_image_string))
        assert (shown.n_frames, shown.size, shown.info["duration"]) == (3, (5, 4), 500)
        shown.seek(1)
        assert shown.convert("RGB").getpixel((0, 0)) == (255, 255, 255)

    def test_figure(self, tmp_path: Path) -> None:
        pyplot = pytest.importorskip("matplotlib.pyplot")
        figure = pyplot.figure(figsize=(2, 1), dpi=50)
        with torch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
            writer.add_figure("f", figure, 1)
        ((_, value),) = self.read(tmp_path)["f"]
        assert (value.image.height, value.image.width) == (50, 100)

    def test_going_on_after_close(self, tmp_path: Path) -> None:
        writer = torch.utils.tensorboard.SummaryWriter(str(tmp_path))
        assert writer.get_logdir() == str(tmp_path)
        writer.add_scalar("x", 1.0)
        writer.close()
        writer.flush()
        writer.add_scalar("x", 2.0)
        writer.close()
        assert sorted(v.simple_value for _, v in self.read(tmp_path)["x"]) == [1.0, 2.0]

    def test_the_folder_by_default(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with torch.utils.tensorboard.SummaryWriter(comment="_first") as writer:
            pass
        (made,) = (tmp_path / "runs").iterdir()
        assert made.name.endswith("_first") and writer.log_dir == str(Path("runs") / made.name)

    def test_purging(self, tmp_path: Path) -> None:
        from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

        torch.utils.tensorboard.SummaryWriter(tmp_path, purge_step=7).close()
        (file,) = tmp_path.iterdir()
        events = list(LegacyEventFileLoader(str(file)).Load())
        assert [event.step for event in events[1:]] == [7, 7]
        assert events[2].session_log.status == events[2].session_log.START

    def test_what_is_not_supported_says_so(self, tmp_path: Path) -> None:
        with torch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
            with pytest.raises(NotImplementedError, match=r"SummaryWriter\.add_onnx_graph"):
                writer.add_onnx_graph(torch.nn.ReLU())

    def test_the_graph_of_a_model(self, tmp_path: Path) -> None:
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
        from tensorboard.compat.proto.graph_pb2 import GraphDef

        class Model(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.body = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Dropout())

            def forward(self, x: Any, y: Any) -> Any:
                return self.body(x) + y

        model = Model()
        model.body[1].eval()
        with torch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
            writer.add_graph(model, (torch.ones(1, 2), torch.ones(3)))
        assert [module.training for module in model.modules()] == [True, True, True, False]
        assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
        (file,) = tmp_path.iterdir()
        (found,) = [e.graph_def for e in EventFileLoader(str(file)).Load() if e.graph_def]
        graph = GraphDef.FromString(found)
        nodes = {node.name: (node.op, list(node.input)) for node in graph.node}
        linear = "Model/Sequential[body]/Linear[0]"
        dropout = "Model/Sequential[body]/Dropout[1]/dropout"
        assert nodes == {
            "input/input.1": ("IO Node", []),
            "input/input.2": ("IO Node", []),
            f"{linear}/weight": ("prim::GetAttr", []),
            f"{linear}/bias": ("prim::GetAttr", []),
            f"{linear}/linear": (
                "aten::linear",
                ["input/input.1", f"{linear}/weight", f"{linear}/bias"],
            ),
            dropout: ("aten::dropout", [f"{linear}/linear"]),
            "Model/add": ("aten::add", [dropout, "input/input.2"]),
            "output/output.1": ("IO Node", ["Model/add"]),
        }
        shapes = graph.node[-1].attr["_output_shapes"].list.shape
        assert [dim.size for dim in shapes[0].dim] == [1, 3]
