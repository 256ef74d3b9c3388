"""Checkpoints of several processes: written once, whole or not at all, read by other numbers."""

import json
import os
import pickle
from pathlib import Path

import pytest

import retrograd as torch
import retrograd.distributed.checkpoint as dcp
from retrograd.distributed.checkpoint import format_utils
from retrograd.distributed.transports import gloo
from tests.distributed.together import begin, finish, together

several = pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar")

WRITE = """
import retrograd.distributed.checkpoint as dcp
from retrograd.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
nn = torch.nn
dist.init_process_group("gloo")
def made():
    torch.manual_seed(3)
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    model = nn.parallel.DistributedDataParallel(model)
    return model, torch.optim.Adam(model.parameters(), 0.1)
def train(model, optimizer, steps):
    for number in steps:
        optimizer.zero_grad()
        data = torch.arange(12.0).reshape(4, 3).sin() + number
        (model(data) - 1).pow(2).mean().backward()
        optimizer.step()
def state(model, optimizer, step):
    model_state, optimizer_state = get_state_dict(model, optimizer)
    return {"model": model_state, "optimizer": optimizer_state, "step": step, "names": ["a", 1]}
model, optimizer = made()
"""


@several
def test_another_number_of_processes_goes_on_from_it(tmp_path: Path) -> None:
    save = f"""
train(model, optimizer, range(3))
kept = state(model, optimizer, 3)
kept[f"own{{rank}}"] = torch.full((2,), float(rank))
dcp.save(kept, checkpoint_id={os.fspath(tmp_path / "kept")!r})
train(model, optimizer, range(3, 6))
print([round(p.double().sum().item(), 3) for p in model.parameters()])
dist.destroy_process_group()
"""
    load = f"""
kept = state(model, optimizer, 0)
kept["own2"] = torch.zeros(2)
dcp.load(kept, checkpoint_id={os.fspath(tmp_path / "kept")!r})
assert kept["step"] == 3 and kept["names"] == ["a", 1] and kept["own2"].tolist() == [2, 2]
set_state_dict(model, optimizer, model_state_dict=kept["model"],
               optim_state_dict=kept["optimizer"])
train(model, optimizer, range(3, 6))
print([round(p.double().sum().item(), 3) for p in model.parameters()])
dist.destroy_process_group()
"""
    told = {*together(WRITE + save, 3), *together(WRITE + load, 2), *together(WRITE + load, 1)}
    assert len(told) == 1, told
    # Every entry is in one file only, and no process has written all.
    metadata = dcp.FileSystemReader(tmp_path / "kept").read_metadata()
    files = {stored.file for stored in metadata.state_dict_metadata.values()}
    assert len(files) == 3 and files == set(metadata.files)


@several
def test_saving_on_a_thread_beside_training(tmp_path: Path) -> None:
    program = f"""
folder = {os.fspath(tmp_path)!r}
futures = []
for step in range(4):
    train(model, optimizer, [step])
    futures.append(dcp.async_save(state(model, optimizer, step), checkpoint_id=folder))
assert [type(future.result()) for future in futures] == [dcp.Metadata] * 4
kept = state(model, optimizer, 0)
dcp.load(kept, checkpoint_id=folder)
print(kept["step"], len(os.listdir(folder)))
dist.destroy_process_group()
"""
    assert together(WRITE + program, 2) == ["3 3", "3 3"]


@several
def test_an_error_in_one_process_is_one_of_all(tmp_path: Path) -> None:
    program = f"""
class Wrong:
    def __reduce__(self):
        raise ValueError("not this one")
kept = {{"step": 1}}
dcp.save(kept, checkpoint_id={os.fspath(tmp_path)!r})
kept["step"] = 2
if rank:
    kept["wrong"] = Wrong()
try:
    dcp.save(kept, checkpoint_id={os.fspath(tmp_path)!r})
except dcp.CheckpointException as error:
    print(list(error.failures), type(error.failures[1]).__name__)
found = {{"step": 0}}
dcp.load(found, checkpoint_id={os.fspath(tmp_path)!r})
print(found)
dist.destroy_process_group()
"""
    told = "[1] ValueError\n{'step': 1}"
    assert together(WRITE + program, 2) == [told, told]


@several
@pytest.mark.parametrize("moment", ["write_part", "finish"])
def test_killed_while_it_writes(tmp_path: Path, moment: str) -> None:
    dcp.save({"weight": torch.ones(4), "step": 1}, checkpoint_id=tmp_path, no_dist=True)
    program = f"""
def die(self, *args):
    os.kill(os.getpid(), 9)
if rank == 0:
    setattr(dcp.FileSystemWriter, {moment!r}, die)
dcp.save({{"weight": torch.zeros(4), "step": 2, f"own{{rank}}": torch.zeros(9)}},
         checkpoint_id={os.fspath(tmp_path)!r})
"""
    killed, _ = finish(begin(WRITE + program, 2))
    assert killed.status == -9
    found = {"weight": torch.zeros(4), "step": 0}
    dcp.load(found, checkpoint_id=tmp_path, no_dist=True)
    assert found["step"] == 1 and found["weight"].tolist() == [1, 1, 1, 1]
    dcp.save({"step": 3}, checkpoint_id=tmp_path, no_dist=True)
    assert len(list(tmp_path.iterdir())) == 2  # what was left behind is gone


def test_what_is_wanted_and_what_there_is(tmp_path: Path) -> None:
    dcp.save(
        {"weight": torch.ones(2), "list": [{"a": 1}, {"a": torch.zeros(1)}], "none": {}},
        checkpoint_id=tmp_path,
    )
    part = {"list": [{"a": 0}, {"a": torch.ones(1)}], "none": {}}
    dcp.load(part, checkpoint_id=tmp_path)
    assert part["list"][0] == {"a": 1} and part["list"][1]["a"].item() == 0
    for wanted, text in (
        ({"bias": torch.ones(2)}, "Missing key in checkpoint state_dict: bias."),
        ({"weight": torch.ones(3)}, "Size mismatch between saved"),
        ({"list": [{"a": torch.ones(1)}]}, "no tensor"),
    ):
        with pytest.raises(dcp.CheckpointException, match=text):
            dcp.load(wanted, checkpoint_id=tmp_path)
    with pytest.raises(ValueError, match="duplicated"):
        dcp.save({"a": {"b": 1}, "a.b": 2}, checkpoint_id=tmp_path)
    with pytest.raises(RuntimeError, match="Must specify either"):
        dcp.save({})
    with pytest.raises(NotImplementedError, match="planner"):
        dcp.save({}, checkpoint_id=tmp_path, planner=object())
    writer = dcp.FileSystemWriter(tmp_path, overwrite=False)
    with pytest.raises(dcp.CheckpointException, match="already exists"):
        dcp.save({}, storage_writer=writer)


def test_objects_with_a_state(tmp_path: Path) -> None:
    model, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    dcp.save({"model": model, "optimizer": optimizer}, checkpoint_id=tmp_path)
    again = torch.optim.SGD(other.parameters(), 0.1)
    dcp.load({"model": other, "optimizer": again}, checkpoint_id=tmp_path)
    assert torch.equal(model.weight, other.weight)
    assert again.param_groups[0]["lr"] == 0.5


def test_one_file_and_back(tmp_path: Path) -> None:
    state = {"model": {"w": torch.ones(2)}, "list": [{"a": 1, 2: torch.zeros(1)}], "step": 3}
    torch.save(state, tmp_path / "one.pt")
    format_utils.torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "folder")
    format_utils.dcp_to_torch_save(tmp_path / "folder", tmp_path / "two.pt")
    assert str(torch.load(tmp_path / "two.pt")) == str(state)


class Runs:
    def __reduce__(self) -> object:
        return print, ("this must not run",)


def test_files_run_no_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dcp.save({"value": Runs()}, checkpoint_id=tmp_path)
    with pytest.raises(dcp.CheckpointException, match=r"[Ww]eights"):
        dcp.load({"value": None}, checkpoint_id=tmp_path)
    (tmp_path / ".metadata").write_bytes(pickle.dumps(Runs()))
    with pytest.raises(dcp.CheckpointException):
        dcp.load({"value": None}, checkpoint_id=tmp_path)
    assert "must not" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told.update(format="another"),
        lambda told: told.update(entries=[1]),
        lambda told: told["entries"].update(
            weight=["../../etc/passwd", [["weight", False]], [2], "x"]
        ),
        lambda told: told["entries"].update(weight=None),
        lambda told: told["files"].update({name: 7 for name in told["files"]}),
        lambda told: told.pop("files"),
    ],
)
def test_damaged_descriptions(tmp_path: Path, change: object) -> None:
    dcp.save({"weight": torch.ones(2)}, checkpoint_id=tmp_path)
    place = tmp_path / ".metadata"
    told = json.loads(place.read_text())
    change(told)  # type: ignore[operator]
    place.write_text(json.dumps(told))
    with pytest.raises(dcp.CheckpointException, match=r"checkpoint|none of"):
        dcp.load({"weight": torch.zeros(2)}, checkpoint_id=tmp_path)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(dcp.CheckpointException, match="metadata"):
        dcp.load({"weight": torch.zeros(2)}, checkpoint_id=tmp_path)
    dcp.save({"weight": torch.ones(2)}, checkpoint_id=tmp_path)
    next(tmp_path.glob("*.distcp")).unlink()
    with pytest.raises(dcp.CheckpointException, match="is missing"):
        dcp.load({"weight": torch.zeros(2)}, checkpoint_id=tmp_path)
