"""The file in which the page reads a recording."""

from __future__ import annotations

import json

from retrograd.graph import schema
from retrograd.graph.schema import Call, Failure, Node, Place, Recording, Saved, Storage


def small() -> Recording:
    place = Place(0, 3)
    return Recording(
        "loss",
        "retrograd",
        "0.1.0",
        end=5,
        files=[schema.SourceFile("train.py", "a\nb\nloss = w.exp()\n")],
        nodes=[
            Node("AccumulateGrad", 1, (2, 3), "float32", label="w", leaf=True, places=[place]),
            Node(
                "ExpBackward0",
                2,
                (2, 3),
                "float32",
                edges=[0],
                saved=[Saved("result", (2, 3), "float32", 24, 0)],
                places=[place],
                freed=4,
                freed_by=1,
                unknown={"holders": "not searched"},
            ),
        ],
        storages=[Storage(24)],
        calls=[Call(1, 3, 5, [1], "loss", 1, failure=Failure("no", 1, "RG101"))],
    )


def read(recording: Recording) -> dict[str, object]:
    data = json.loads(schema.to_json(recording))
    assert data["format"] == schema.FORMAT
    assert len(data["recordings"]) == 1
    return dict(data["recordings"][0])


def test_each_row_has_a_value_for_each_named_field() -> None:
    data = json.loads(schema.to_json(small()))["recordings"][0]
    assert all(len(row) == len(data["node_fields"]) for row in data["nodes"])
    saved = data["nodes"][1][data["node_fields"].index("saved")]
    assert [len(row) for row in saved] == [len(data["saved_fields"])]


def test_every_field_of_a_node_is_in_the_file() -> None:
    assert set(schema.NODE_FIELDS) == set(Node.__dataclass_fields__)
    assert set(schema.SAVED_FIELDS) == set(Saved.__dataclass_fields__)


def test_texts_are_written_once_and_named_by_index() -> None:
    data = json.loads(schema.to_json(small()))["recordings"][0]
    strings, fields = data["strings"], data["node_fields"]
    assert len(strings) == len(set(strings))
    rows = [dict(zip(fields, row, strict=True)) for row in data["nodes"]]
    assert [strings[row["name"]] for row in rows] == ["AccumulateGrad", "ExpBackward0"]
    assert [strings[row["shape"]] for row in rows] == ["2×3", "2×3"]  # noqa: RUF001
    assert [data["chains"][row["places"]] for row in rows] == [[0, 3], [0, 3]]
    assert [strings[k] for k in rows[1]["unknown"]] == ["holders", "not searched"]


def test_several_recordings_are_in_one_file_in_their_order() -> None:
    first, second = small(), small()
    second.title = "other"
    data = json.loads(schema.to_json([first, second]))
    assert [recording["title"] for recording in data["recordings"]] == ["loss", "other"]


def test_a_failure_and_a_shape_that_is_not_visible() -> None:
    recording = small()
    recording.nodes[1].shape = None
    data = read(recording)
    assert isinstance(data["calls"], list)
    assert data["calls"][0]["failure"] == ["no", 1, "RG101"]
    assert isinstance(data["strings"], list) and "?" in data["strings"]
