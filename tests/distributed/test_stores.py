"""Stores: what they hold, how they wait, and what they leave behind."""

import contextlib
import multiprocessing
import os
import socket
import threading
import time
from datetime import timedelta

import pytest

from retrograd import distributed as dist
from tests.distributed.together import free_port
from tests.limits import LIMIT

SHORT = timedelta(milliseconds=150)
SOON = timedelta(seconds=200)


@pytest.fixture(params=["hash", "tcp", "file", "prefix", "client"])
def store(request, tmp_path):
    kept = []
    if request.param == "hash":
        found = dist.HashStore()
    elif request.param == "file":
        found = dist.FileStore(str(tmp_path / "shared"), 1)
    elif request.param == "prefix":
        found = dist.PrefixStore("part", dist.HashStore())
    else:
        kept.append(dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=SOON))
        found = kept[0]
        if request.param == "client":
            found = dist.TCPStore("127.0.0.1", kept[0].port, timeout=SOON)
            kept.insert(0, found)
    yield found
    for each in kept:
        each.close()


def test_values(store):
    assert store.set("a", "1") is None and store.get("a") == b"1"
    store.set("bytes", b"\xff\x00")
    assert store.get("bytes") == b"\xff\x00"
    assert store.add("n", 3) == 3 and store.add("n", -4) == -1 and store.get("n") == b"-1"
    assert store.check(["a"]) and not store.check(["a", "absent"])
    store.append("a", "2")
    assert store.get("a") == b"12"
    store.multi_set(["x", "y"], ["1", "2"])
    assert store.multi_get(["y", "x"]) == [b"2", b"1"]
    before = store.num_keys()
    assert store.delete_key("x") and not store.delete_key("x")
    assert store.num_keys() == before - 1
    assert {"a", "bytes", "n", "y"} <= set(store.list_keys())


def test_compare_set(store):
    assert store.compare_set("c", "", "first") == b"first"
    assert store.compare_set("c", "first", "second") == b"second"
    assert store.compare_set("c", "wrong", "third") == b"second" == store.get("c")
    assert store.compare_set("new", "old", "x") == b"old" and not store.check(["new"])


def test_queues(store):
    for value in "12":
        store.queue_push("q", value)
    assert store.queue_len("q") == 2
    assert [store.queue_pop("q"), store.queue_pop("q", False)] == [b"1", b"2"]
    with pytest.raises(dist.QueueEmptyError, match="queue is empty"):
        store.queue_pop("q", False)


def test_a_wait_ends_by_the_key_or_the_timeout(store):
    with pytest.raises(dist.DistStoreError, match=r"wait timeout after 150ms, keys: /.*late"):
        store.wait(["late"], SHORT)
    store.set_timeout(SHORT)
    with pytest.raises(dist.DistStoreError, match="wait timeout after 150ms"):
        store.get("late")
    store.set_timeout(SOON)
    other = store.clone()
    timer = threading.Timer(0.1, lambda: other.set("late", "now"))
    timer.start()
    assert store.get("late") == b"now"
    timer.join()


def test_wrong_arguments(store):
    with pytest.raises(TypeError, match="a key of a store is a str, not a int: 1"):
        store.set(1, "a")
    with pytest.raises(TypeError, match="a value of a store is a str or bytes, not a int"):
        store.set("a", 1)
    with pytest.raises(TypeError, match="what is added is an int, not a str"):
        store.add("a", "b")
    with pytest.raises(dist.DistStoreError, match="multiSet keys and values vectors must be of"):
        store.multi_set(["a"], ["b", "c"])
    store.set("text", "x")
    with pytest.raises((ValueError, dist.DistStoreError), match="text' is no number"):
        store.add("text", 1)
    assert store.get("text") == b"x"  # it still answers


def test_adding_from_many_threads_loses_nothing(store):
    clones = [store.clone() for _ in range(4)]

    def add(each):
        for _ in range(50):
            each.add("sum", 1)

    threads = [threading.Thread(target=add, args=(each,)) for each in clones]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert store.add("sum", 0) == 200


def _add_in_file(path, times):
    found = dist.FileStore(path, 3)
    for _ in range(times):
        found.add("sum", 1)
    found.close()


def test_a_file_of_several_processes(tmp_path):
    path = str(tmp_path / "shared")
    started = multiprocessing.get_context("fork")
    processes = [started.Process(target=_add_in_file, args=(path, 40)) for _ in range(2)]
    found = dist.FileStore(path, 3)
    for process in processes:
        process.start()
    for process in processes:
        process.join(LIMIT)
        assert process.exitcode == 0
    assert found.add("sum", 0) == 80
    found.close()
    assert not os.path.exists(path)  # the last one deletes it


def test_a_master_that_ends_leaves_no_port_and_its_clients_know():
    master = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=SOON)
    port = master.port
    client = dist.TCPStore("127.0.0.1", port, timeout=SOON)
    told = []

    def wait():
        with pytest.raises(dist.DistNetworkError, match="is gone: the process that holds it"):
            client.wait(["never"], SOON)
        told.append(True)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.1)
    master.close()
    waiting.join(LIMIT)
    assert told == [True]
    socket.create_server(("127.0.0.1", port)).close()
    client.close()


def test_nobody_there():
    with pytest.raises(dist.DistNetworkError, match="The client socket has timed out after 200ms"):
        dist.TCPStore("127.0.0.1", free_port(), timeout=timedelta(milliseconds=200))
    with pytest.raises(dist.DistStoreError, match="1/2 clients joined"):
        dist.TCPStore("127.0.0.1", 0, 2, True, timedelta(milliseconds=200))


def test_what_is_no_client_does_no_harm():
    master = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=SOON)
    for said in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 100, b"\x7f\xff\xff\xff" * 4):
        with socket.create_connection(("127.0.0.1", master.port)) as stranger:
            with contextlib.suppress(OSError):  # the master may end it at the first byte
                stranger.sendall(said)
                stranger.shutdown(socket.SHUT_WR)
                assert stranger.recv(100) == b""
    client = dist.TCPStore("127.0.0.1", master.port, timeout=SOON)
    client.set("a", "1")
    assert master.get("a") == b"1"
    client.close()
    master.close()
