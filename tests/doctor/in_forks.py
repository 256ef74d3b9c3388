"""The doctor on many small scripts in one process: torch is imported once, each script has a fork.

The process that forks is one of its own (`Server`): PyTorch refuses backward in the fork of a
process that has run it already, as one in which other tests ran has.

The second pass needs a process that was never watched: it is forked before the first pass begins,
and waits for a question.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

SECONDS = 900  # for scripts that hang


class Server:
    """The process that forks; started at the first question, ended with the tests."""

    process: subprocess.Popen[str] | None = None

    @classmethod
    def ask(cls, script: Path, recorded: bool) -> dict[str, Any]:
        """What `examine_here` finds there."""
        if cls.process is None:
            cls.process = subprocess.Popen(
                [sys.executable, "-m", "tests.doctor.in_forks", "--serve"],
                cwd=Path(__file__).parents[2],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            atexit.register(cls.end)
        assert cls.process.stdin is not None and cls.process.stdout is not None
        print(json.dumps([str(script.resolve()), recorded]), file=cls.process.stdin, flush=True)
        answer = cls.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process that forks ended at {script}")
        result: dict[str, Any] = json.loads(answer)
        if "died" in result:
            raise RuntimeError(result["died"])
        return result

    @classmethod
    def end(cls) -> None:
        """No more questions."""
        if cls.process is not None and cls.process.stdin is not None:
            cls.process.stdin.close()
            cls.process.wait()
            cls.process = None


def examine(script: Path, recorded: bool = False) -> dict[str, Any]:
    """Run the doctor on a script: its findings as JSON, and how it ended.

    recorded   record the life of the graph beside it, as for the report's page
    """
    return Server.ask(script, recorded)


def serve() -> None:
    """Answer questions: lines of JSON in and out."""
    answers = os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)  # what scripts print must not get among the answers
    prepare()
    for line in sys.stdin:
        try:
            script, recorded = json.loads(line)
            result = examine_here(Path(script), recorded)
        except RuntimeError as error:
            result = {"died": str(error)}
        print(json.dumps(result), file=answers, flush=True)


def examine_here(script: Path, recorded: bool = False) -> dict[str, Any]:
    """Run the doctor on a script in a forked child of this process."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the questions are not the script's
        signal.alarm(SECONDS)
        warnings.resetwarnings()  # a script's warnings are its own
        try:
            with open(into, "w") as answer:
                json.dump(_examine(script.resolve(), recorded), answer)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(into)
    with open(out) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    if not text:
        raise RuntimeError(f"the doctor died on {script}")
    result: dict[str, Any] = json.loads(text)
    return result


def _examine(script: Path, recorded: bool) -> dict[str, Any]:
    from retrograd.doctor import rules, session
    from retrograd.doctor.report.findings import finding
    from retrograd.doctor.report.linking import Links
    from retrograd.doctor.result import Result
    from retrograd.graph.program_record import ProgramRecord
    from retrograd.graph.schema import Recording
    from retrograd.watching.engines import TorchEngine

    with tempfile.TemporaryDirectory() as folder:
        second = SecondPass(script, Path(folder))
        watched = session.make(TorchEngine())
        watched.record = ProgramRecord(script.name) if recorded else None
        # what the script prints goes nowhere, wherever it prints
        with contextlib.redirect_stdout(open(os.devnull, "w")):
            session.run_script(watched, script, [])
        watched.second_pass = second
        found = rules.diagnose(watched)
        second.close()
    graph = watched.graph
    links = Links(graph) if isinstance(graph, Recording) else None
    shown = [finding(diagnosis, Result(), links) for diagnosis in found]
    return {
        "graph": graph if isinstance(graph, str) else len(graph.nodes),
        "linked": [[place.link is not None for place in each.places] for each in shown],
        "error": ""
        if watched.error is None
        else f"{type(watched.error).__name__}: {watched.error}",
        "unseen": watched.unseen,
        "found": [diagnosis.to_json() for diagnosis in found],
    }


class SecondPass:
    """Answers questions of the rules like the doctor's own runner, from a process forked before."""

    def __init__(self, script: Path, folder: Path) -> None:
        self.script, self.folder = script, folder
        self.questions, self.asking = os.pipe()
        self.answers, self.telling = os.pipe()
        self.known: dict[str, dict[str, Any]] = {}
        self.child = os.fork()
        if self.child == 0:
            os.close(self.asking)
            self._serve()
        os.close(self.telling)

    def _serve(self) -> None:
        """The child: answer each question in a process forked for it, end with the last."""
        with open(self.questions) as questions:
            for config in questions:
                if os.fork() == 0:
                    self._run(config.rstrip("\n"))
                os.wait()
                os.write(self.telling, b"\n")
        os._exit(0)

    def _run(self, config: str) -> None:
        from retrograd.doctor.second_pass.__main__ import main

        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        sys.stdin = open(os.devnull)
        try:
            main(config)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)

    def __call__(self, question: dict[str, Any]) -> dict[str, Any]:
        key = json.dumps(question, sort_keys=True)
        if key not in self.known:
            self.known[key] = self._ask(question)
        return self.known[key]

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        config, answer = self.folder / "question.json", self.folder / "answer.json"
        answer.unlink(missing_ok=True)
        asked = {
            **question,
            "script": os.fspath(self.script),
            "arguments": [],
            "answer": os.fspath(answer),
            "forced": True,
        }
        config.write_text(json.dumps(asked))
        os.write(self.asking, f"{config}\n".encode())
        os.read(self.answers, 1)
        if not answer.exists():
            return {"refused": "the second run ended without an answer"}
        result: dict[str, Any] = json.loads(answer.read_text())
        return result

    def close(self) -> None:
        """No more questions."""
        if self.child:
            os.close(self.asking)
            os.waitpid(self.child, 0)
            self.child = 0


def prepare() -> None:
    """Import what the scripts use, once, in the process that forks."""
    import torch

    for name in ("torch.distributions", "torch.func", "torch.utils.checkpoint", "torch.utils.data"):
        importlib.import_module(name)
    importlib.import_module("retrograd.doctor.second_pass.__main__")
    torch.set_num_threads(1)
    torch.optim.SGD([torch.zeros(1)])  # the first optimizer imports hundreds of modules


def main() -> None:
    """By hand: `python -m tests.doctor.in_forks SCRIPT ...`."""
    if sys.argv[1:] == ["--serve"]:
        serve()
        return
    for script in sys.argv[1:]:
        result = examine(Path(script))
        print(script, result["error"][:100], result["unseen"])
        for found in result["found"]:
            report, fix = found["report"], found["fix"]
            fixes = [(each["kind"], each["place"]["line"]) for each in report["fixes"]]
            print("   ", found["category"], "|", report["title"], "|", report["why"])
            created = [place["line"] for place in found["created_at"]]
            print("      created", created, "fix", fix and fix["kind"], fixes)


if __name__ == "__main__":
    main()
