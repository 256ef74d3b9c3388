"""`retrograd run`: the program sees retrograd as torch, and else a plain Python."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests import forked

ROOT = Path(__file__).resolve().parents[2]


def run(
    folder: Path, *arguments: str, text: str | None = None, module: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run `program.py` (with this text) in a folder."""
    if text is not None:
        (folder / "program.py").write_text(textwrap.dedent(text))
    program = ["-m", module] if module else ["program.py"]
    command = ["-m", "retrograd", "run", *program, *arguments]
    return forked.python(command, folder, {**os.environ, "PYTHONPATH": str(ROOT)})


def started(
    folder: Path, *arguments: str, path: str = str(ROOT), given: str = ""
) -> "subprocess.CompletedProcess[str]":
    """`retrograd run ARGUMENTS` in an interpreter of its own, where the start is what is tested."""
    return subprocess.run(
        [sys.executable, "-m", "retrograd", "run", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        input=given,
        capture_output=True,
        text=True,
        timeout=900,  # for what hangs
        check=False,
    )


def test_torch_is_retrograd_under_all_its_names(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import importlib.metadata, importlib.util, sys
        import torch.nn.functional as F
        import torch
        import torch.nn as nn
        from torch import optim
        from torch.utils.data import DataLoader
        from torch.optim.lr_scheduler import StepLR
        import functorch
        import retrograd
        assert torch is retrograd and nn is retrograd.nn and F is retrograd.nn.functional
        assert sys.modules["torch.nn"] is sys.modules["retrograd.nn"]
        assert nn.__spec__.name == "retrograd.nn" and nn.__name__ == "retrograd.nn"
        assert functorch.vmap is torch.func.vmap
        assert importlib.util.find_spec("torch") is not None
        assert torch.__version__ >= "2.13" and torch.__version__ >= (2, 0)
        print(torch.__version__, importlib.metadata.version("torch"))
        """
    )
    (tmp_path / "program.py").write_text(program)
    done = started(tmp_path, "program.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2.13.0+retrograd 2.13.0+retrograd\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["torch.lifecycle", "torch.no_such_module", "torch._higher_order_ops"]
)
def test_what_retrograd_lacks_cannot_be_imported(tmp_path: Path, name: str) -> None:
    if name == "torch._higher_order_ops":
        pytest.importorskip("torch")  # else it could not leak
    done = run(tmp_path, text=f"import {name}")
    assert done.returncode == 1
    assert f"No module named '{name}'" in done.stderr.splitlines()[-1]


def test_program_is_main_and_gets_its_arguments(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        *("--epochs", "3", "-m", "x"),
        text="""
        import os, pickle, sys
        class Kept: pass
        print(__name__, sys.argv, __file__ == os.path.abspath("program.py"), __spec__)
        copied = pickle.loads(pickle.dumps(Kept()))
        print(sys.modules["__main__"].Kept is Kept, type(copied) is Kept)
        print(sys.path[0] == os.getcwd())
        """,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "__main__ ['program.py', '--epochs', '3', '-m', 'x'] True None",
        "True True",
        "True",
    ]


@pytest.mark.slow
def test_module_of_a_package_with_relative_imports(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "model.py").write_text("import torch.nn as nn\nmodel = nn.Linear(1, 1)\n")
    (package / "train.py").write_text(
        "import sys\nfrom .model import model\nprint(model, sys.argv[1:])\n"
    )
    done = run(tmp_path, "a", module="package.train")
    assert done.stdout == "Linear(in_features=1, out_features=1, bias=True) ['a']\n", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "status"),
    [("import sys; sys.exit(7)", 7), ("raise SystemExit", 0), ("1 / 0", 1), ("x =", 1)],
)
def test_exit_status(tmp_path: Path, text: str, status: int) -> None:
    assert run(tmp_path, text=text).returncode == status


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_a_signal_ends_it_as_it_ends_python(tmp_path: Path) -> None:
    done = run(tmp_path, text="import os, signal, torch; os.kill(os.getpid(), signal.SIGTERM)")
    assert done.returncode == -signal.SIGTERM


def test_uncaught_error_has_the_programs_own_traceback_and_the_report(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        text="""
        import torch
        x = torch.ones(2, requires_grad=True)
        y = (x * x).sum()
        y.backward()
        y.backward()
        """,
    )
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[:2] == [
        "Traceback (most recent call last):",
        f'  File "{tmp_path / "program.py"}", line 6, in <module>',
    ]
    assert "error[RG101]" in done.stderr


@pytest.mark.slow
def test_started_processes_see_retrograd_too(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        text="""
        import multiprocessing, subprocess, sys
        import torch
        def name(_):
            return torch.__package__
        class Numbers(torch.utils.data.Dataset):
            def __len__(self):
                return 4
            def __getitem__(self, index):
                return torch.tensor(index)
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(name, [0]))
            loader = torch.utils.data.DataLoader(
                Numbers(), 2, num_workers=1, multiprocessing_context="spawn"
            )
            print([batch.tolist() for batch in loader])
            code = "import torch.nn; print(torch.nn.Linear.__module__.split('.')[0])"
            print(subprocess.check_output([sys.executable, "-c", code], text=True), end="")
        """,
    )
    assert done.stdout.splitlines() == ["['retrograd']", "[[0, 1], [2, 3]]", "retrograd"], (
        done.stderr
    )


@pytest.mark.slow
def test_standard_input_as_the_program(tmp_path: Path) -> None:
    text = "import sys, torch; print(sys.argv, torch.ones(1))"
    done = started(tmp_path, "-", "a", given=text)
    assert done.stdout == "['-', 'a'] tensor([1.])\n", done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which program?"),
        (["-m"], "-m needs the name of a module"),
        (["absent.py"], f"there is no file 'absent.py' in {os.getcwd()}"),
        ([str(ROOT / "absent.py")], f"there is no file {str(ROOT / 'absent.py')!r}\n"),
        ([str(ROOT / "docs")], "is a folder without a __main__.py"),
    ],
)
def test_wrong_use(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    from retrograd.cli import main

    assert main(["run", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_an_interrupt_ends_it_as_it_ends_python(tmp_path: Path) -> None:
    text = "import os, signal, torch\nos.kill(os.getpid(), signal.SIGINT)\nprint('not reached')\n"
    (tmp_path / "program.py").write_text(text)
    done = started(tmp_path, "program.py")
    plain = subprocess.run(
        [sys.executable, "-c", text.replace(", torch", "")],
        capture_output=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == plain.returncode == -signal.SIGINT
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt" and done.stdout == ""


def test_spawned_processes_work_and_tell_their_errors(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        text="""
        import sys
        import torch
        import torch.multiprocessing as mp
        def work(rank, how, queue):
            if how == "raise" and rank == 1:
                raise ValueError(f"in {rank}")
            if how == "exit" and rank == 0:
                sys.exit(3)
            queue.put((rank, torch.full((2,), float(rank)).tolist(), torch.__package__))
        if __name__ == "__main__":
            queue = mp.get_context("spawn").SimpleQueue()
            print(mp.spawn(work, ("work", queue), nprocs=2))
            print(sorted(queue.get() for _ in range(2)))
            for how in ("raise", "exit"):
                try:
                    mp.spawn(work, (how, queue), nprocs=2)
                except mp.ProcessRaisedException as error:
                    print(error.error_index, str(error).splitlines()[2], str(error).split()[-3:])
                except mp.ProcessExitedException as error:
                    print(error, error.exit_code)
            context = mp.spawn(work, ("work", queue), nprocs=1, join=False)
            while not context.join():
                pass
            print(len(context.pids()))
        """,
    )
    assert done.stdout.splitlines() == [
        "None",
        "[(0, [0.0, 0.0], 'retrograd'), (1, [1.0, 1.0], 'retrograd')]",
        "1 -- Process 1 terminated with the following error: ['ValueError:', 'in', '1']",
        "process 0 terminated with exit code 3 3",
        "1",
    ], done.stderr


def test_an_installed_pytorch_is_never_looked_at(tmp_path: Path) -> None:
    """A folder stands for it, in front of the program's path."""
    fake = tmp_path / "site"
    for name in ("torch/nn", "torchaudio", "torch-9.9.dist-info"):
        (fake / name).mkdir(parents=True)
    (fake / "torch" / "__init__.py").write_text("raise SystemError('the other one')")
    (fake / "torch" / "nn" / "__init__.py").write_text("raise SystemError('the other one')")
    (fake / "torch" / "leaked.py").write_text("")
    (fake / "torchaudio" / "__init__.py").write_text("raise SystemError('the other one')")
    (fake / "torchaudio" / "_C.so").write_text("")
    (fake / "torch-9.9.dist-info" / "METADATA").write_text("Name: torch\nVersion: 9.9\n")
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import importlib.metadata, importlib.util, os, sys
            import torch, torch.nn, torch.utils.data
            here = os.path.dirname(torch.__file__)
            print(importlib.metadata.version("torch"), os.path.basename(here))
            theirs = [
                name for name, module in sys.modules.items()
                if "site" + os.sep + "torch" in (getattr(module, "__file__", None) or "")
            ]
            print(theirs, importlib.util.find_spec("torch").name)
            print(importlib.util.find_spec("torchaudio"))
            for name in ("torch.leaked", "torchaudio", "torchaudio.transforms"):
                try:
                    __import__(name)
                except ImportError as error:
                    print(type(error).__name__, error)
            """
        )
    )
    done = started(tmp_path, str(program), path=os.pathsep.join([str(ROOT), str(fake)]))
    reason = "(torchaudio is compiled for PyTorch, and torch is retrograd here)"
    assert done.stdout.splitlines() == [
        "2.13.0+retrograd retrograd",
        "[] retrograd",
        "None",
        "ModuleNotFoundError No module named 'torch.leaked' (torch is retrograd here, which has "
        "no such module)",
        f"ModuleNotFoundError No module named 'torchaudio' {reason}",
        f"ModuleNotFoundError No module named 'torchaudio' {reason}",
    ], done.stderr


def test_a_folder_of_the_program_may_have_the_name_of_a_compiled_package(tmp_path: Path) -> None:
    """Programs bring their own torchaudio in plain Python, with the few names they need."""
    (tmp_path / "torchaudio").mkdir()
    (tmp_path / "torchaudio" / "__init__.py").write_text("")
    (tmp_path / "torchaudio" / "datasets.py").write_text("import torch\nones = torch.ones(2)\n")
    done = run(
        tmp_path,
        text="""
        import importlib.util, torch
        from torchaudio.datasets import ones
        print(ones, importlib.util.find_spec("torchaudio").name)
        """,
    )
    assert done.stdout == "tensor([1., 1.]) torchaudio\n", done.stderr


def test_program_reads_standard_input(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys, torch\nprint(sys.stdin.read().upper())")
    done = started(tmp_path, "program.py", given="given")
    assert done.stdout == "GIVEN\n", done.stderr


def test_package_with_a_main_module(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("import torch\n")
    (package / "__main__.py").write_text(
        "from . import torch\nprint(__name__, __package__, torch.__name__)\n"
    )
    done = run(tmp_path, module="package")
    assert done.stdout == "__main__ package torch\n", done.stderr


def test_module_of_pytorchs_as_the_program(tmp_path: Path) -> None:
    done = run(tmp_path, module="torch.utils.collect_env")
    assert "PyTorch version: 2.13.0+retrograd (this is retrograd)" in done.stdout, done.stderr


def test_a_tensors_type_prints_and_pickles_under_the_name_of_pytorch(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        text="""
        import copy, pickle, torch
        x = torch.ones(2)
        print(type(x), pickle.loads(pickle.dumps(torch.Tensor)) is torch.Tensor)
        torch.save({"kind": torch.Tensor, "x": x}, "x.pt")
        print(torch.load("x.pt", weights_only=False)["kind"] is type(copy.deepcopy(x)))
        """,
    )
    assert done.stdout == "<class 'torch.Tensor'> True\nTrue\n", done.stderr


def test_a_module_that_is_imported_again_stays_the_same(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        text="""
        import torch
        before = torch.distributions
        import torch.distributions.kl
        import torch.distributions as again
        print(again is before is torch.distributions, torch.distributions.kl.kl_divergence)
        """,
    )
    assert done.stdout.startswith("True <function kl_divergence"), done.stderr


def test_a_library_that_patches_functions_by_their_names_finds_them(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        text="""
        import torch
        from torch.serialization import MAP_LOCATION
        target = "torch.distributions.transforms.Transform.__getstate__".split(".")
        assert target[0] == torch.__name__
        place = torch
        for name in target[1:-1]:
            place = getattr(place, name)
        print(place is torch.distributions.Transform)
        try:
            torch.zeroes
        except AttributeError as error:
            print(error)
        try:
            torch.sym_constrain_range
        except AttributeError as error:
            print(error)
        """,
    )
    assert done.stdout == (
        "True\nmodule 'torch' has no attribute 'zeroes'. Did you mean: 'zeros'?\n"
        "module 'torch' has no attribute 'sym_constrain_range': "
        "sizes are plain integers (symbolic shapes)\n"
    ), done.stderr


def test_libraries_that_ask_for_other_devices_and_compilers_get_answers(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        text="""
        import torch
        from torch.distributed.constants import default_pg_timeout
        from torch.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel
        from torch.distributed.fsdp import FullyShardedDataParallel as same
        from torch.overrides import TorchFunctionMode
        model = torch.nn.LSTM(1, 1)
        print(isinstance(model, FullyShardedDataParallel), same is FullyShardedDataParallel)
        print(isinstance(model, torch._dynamo.eval_frame.OptimizedModule), default_pg_timeout)
        print(torch.distributed.ReduceOp.SUM, torch.distributed.ReduceOp.RedOpType.SUM == 0)
        print(isinstance(torch.futures.Future(), torch.Future), model.bias_ih_l0._cdata > 0)
        model._flat_weights = [getattr(model, name) for name in model._flat_weights_names]
        class Seen(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                print(function.__name__)
                return function(*args, **(kwargs or {}))
        with Seen():
            torch.ones(1)
        """,
    )
    assert done.stdout.splitlines() == [
        "False True",
        "False 0:30:00",
        "RedOpType.SUM True",
        "True True",
        "ones",
    ], done.stderr
