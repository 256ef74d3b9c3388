"""`python -m retrograd.distributed.run` and `retrograd run --nproc-per-node`."""

import ast
import os
import signal
import sys
import time

import pytest

from retrograd.distributed.transports import gloo
from tests.distributed.together import ended, free_port, start

pytestmark = [
    pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]

RUN = ["-m", "retrograd.distributed.run"]

SUM = """
import os, sys, torch
dist = torch.distributed
dist.init_process_group()
t = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(t)
print(f"{os.environ['RANK']} {t.item()} {sys.argv[1:]}\\n", end="")
dist.destroy_process_group()
"""

VARIABLES = """
import os
names = "LOCAL_RANK RANK GROUP_RANK ROLE_RANK ROLE_NAME LOCAL_WORLD_SIZE WORLD_SIZE"
names += " GROUP_WORLD_SIZE ROLE_WORLD_SIZE MASTER_ADDR OMP_NUM_THREADS"
for name in "RESTART_COUNT MAX_RESTARTS RUN_ID USE_AGENT_STORE".split():
    names += f" TORCHELASTIC_{name}"
print(f"{({name: os.environ[name] for name in names.split()})}\\n", end="")
"""


@pytest.fixture
def program(tmp_path):
    def written(text):
        path = tmp_path / "train.py"
        path.write_text(text)
        return str(path)

    return written


def test_a_pytorch_program_as_it_is(program):
    command = ["-m", "retrograd", "run", "--nproc-per-node", "3", program(SUM), "--epochs", "3"]
    found = ended(start(command))
    assert found.status == 0, found.err
    lines = [f"{rank} 6.0 ['--epochs', '3']" for rank in range(3)]
    assert sorted(found.out.splitlines()) == lines


def test_variables(program):
    found = ended(start([*RUN, "--nproc-per-node", "2", "--rdzv-id", "x", program(VARIABLES)]))
    told = sorted((ast.literal_eval(line) for line in found.out.splitlines()), key=str)
    assert [each.pop("RANK") for each in told] == ["0", "1"]
    assert [each.pop("LOCAL_RANK") for each in told] == ["0", "1"]
    assert [each.pop("ROLE_RANK") for each in told] == ["0", "1"]
    assert (
        told[0]
        == told[1]
        == {
            "GROUP_RANK": "0",
            "ROLE_NAME": "default",
            "LOCAL_WORLD_SIZE": "2",
            "WORLD_SIZE": "2",
            "GROUP_WORLD_SIZE": "1",
            "ROLE_WORLD_SIZE": "2",
            "MASTER_ADDR": "localhost",
            "TORCHELASTIC_RESTART_COUNT": "0",
            "TORCHELASTIC_MAX_RESTARTS": "0",
            "TORCHELASTIC_RUN_ID": "x",
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "OMP_NUM_THREADS": "1",
        }
    )


@pytest.mark.parametrize("way", ["static", "c10d"])
def test_two_machines_on_one(program, way):
    path, port = (
        program(SUM.replace("import os, sys, torch", "import os, sys, retrograd as torch")),
        free_port(),
    )
    where = [f"--rdzv-endpoint=127.0.0.1:{port}", f"--rdzv-backend={way}", "--rdzv-id=7"]
    nodes = [
        start(
            [
                *RUN,
                "--nnodes=2",
                f"--node-rank={node}",
                f"--nproc-per-node={node + 1}",
                *where,
                path,
            ]
        )
        for node in range(2)
    ]
    found = [ended(node) for node in nodes]
    assert [each.status for each in found] == [0, 0], found
    lines = sorted("".join(each.out for each in found).splitlines())
    assert lines == [f"{rank} 6.0 []" for rank in range(3)]


def test_all_are_started_anew(program):
    text = """
import os, sys, retrograd as torch
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
torch.distributed.init_process_group()
if torch.distributed.get_rank() == 1 and attempt < 2:
    sys.exit(3)
t = torch.ones(1)
torch.distributed.all_reduce(t)
print(f"{attempt} {t.item()}\\n", end="")
"""
    found = ended(start([*RUN, "--nproc-per-node=2", "--max-restarts=2", program(text)]))
    assert found.status == 0, found.err
    assert found.out.splitlines() == ["2 2.0"] * 2
    assert found.err.count("starting anew") == 2


def test_the_first_failure_is_the_root_cause(program):
    text = """
import retrograd as torch
dist = torch.distributed
dist.init_process_group()
if dist.get_rank() == 1:
    raise ValueError("this one")
dist.barrier()
"""
    path = program(text)
    found = ended(start([*RUN, "--nproc-per-node=2", path]))
    assert found.status == 1
    root = found.err.partition("Root Cause (first observed failure):")[2]
    assert "rank      : 1 (local_rank: 1)" in root and "exitcode  : 1" in root
    assert f'File "{path}", line 6' in root and "ValueError: this one" in root


def test_streams_with_the_rank_in_front_and_files(program, tmp_path):
    text = "import os, sys; print('out'); print('err', file=sys.stderr)"
    folder = tmp_path / "logs"
    options = ["--nproc-per-node=2", "--tee=3", f"--log-dir={folder}", "--role=part"]
    found = ended(start([*RUN, *options, program(text)]))
    assert sorted(found.out.splitlines()) == ["[part0]:out", "[part1]:out"]
    assert sorted(found.err.splitlines()) == ["[part0]:err", "[part1]:err"]
    files = sorted(
        str(each.relative_to(folder)).partition("/")[2] for each in folder.rglob("*.log")
    )
    assert files == [f"attempt_0/{rank}/std{name}.log" for rank in "01" for name in ("err", "out")]
    shown = ended(
        start(
            [
                *RUN,
                "--nproc-per-node=2",
                "--local-ranks-filter=1",
                "-r=0:1",
                f"--log-dir={folder}",
                program(text),
            ]
        )
    )
    assert shown.out == "out\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all(program, number):
    text = """
import retrograd as torch
torch.distributed.init_process_group()
torch.distributed.barrier()
print("there\\n", end="")
torch.distributed.recv(torch.ones(1), 1 - torch.distributed.get_rank())
"""
    process = start([*RUN, "--nproc-per-node=2", "--shutdown-timeout=500", program(text)])
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    since = time.monotonic()
    os.kill(process.pid, number)
    found = ended(process)
    assert found.status == 128 + number and time.monotonic() - since < 250


def test_a_killed_launcher_leaves_no_process(program):
    text = """
import retrograd as torch
torch.distributed.init_process_group()
torch.distributed.barrier()
print("there\\n", end="")
torch.distributed.recv(torch.ones(1), 1 - torch.distributed.get_rank())
"""
    process = start([*RUN, "--nproc-per-node=2", program(text)])
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    process.kill()
    assert ended(process).status == -9


@pytest.mark.parametrize(
    "options, said",
    [
        (["--rdzv-backend=etcd"], "--rdzv-backend etcd is not supported by retrograd"),
        (["--nproc-per-node=many"], "Unsupported nproc_per_node value: many"),
        (["--tee=9"], "streams are 0 (none), 1 (out), 2 (err) or 3 (both)"),
        (["--nnodes=2", "--node-rank=2"], "--node-rank 2 is not below --nnodes 2"),
        (["--numa-binding=node"], "--numa-binding is not supported by retrograd"),
    ],
)
def test_what_cannot_be_followed_is_refused(options, said):
    found = ended(start([*RUN, *options, "train.py"]))
    assert found.status == 2 and said in found.err


def test_the_older_launcher_gives_the_local_rank(program):
    path = program("import sys; print(f'{sys.argv[1:]}\\n', end='')")
    old = ["-m", "retrograd.distributed.launch", "--nproc-per-node=2"]
    found = ended(start([*old, path, "x"]))
    assert sorted(found.out.splitlines()) == [f"['--local-rank={rank}', 'x']" for rank in "01"]
    assert ended(start([*old, "--use-env", path, "x"])).out == "['x']\n" * 2
