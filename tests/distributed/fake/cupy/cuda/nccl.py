"""NCCL's calls as CuPy has them; a store of retrograd carries the bytes."""

import ctypes
import threading
from collections import Counter
from datetime import timedelta

import ml_dtypes
import numpy as np

from cupy.cuda import of
from retrograd.distributed import TCPStore
from retrograd.distributed.names import DistStoreError

available = True
_KINDS = (
    *("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"),
    "bfloat16",
)
for _number, _name in enumerate(_KINDS):
    globals()[f"NCCL_{_name.upper()}"] = _number
NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN, NCCL_AVG = range(5)
_COMBINE = {NCCL_SUM: np.add, NCCL_PROD: np.multiply, NCCL_MAX: np.maximum, NCCL_MIN: np.minimum}
_SHORT = timedelta(milliseconds=100)
_served = []
_group = threading.local()


def get_unique_id():
    _served.append(TCPStore("127.0.0.1", 0, is_master=True))
    return b"%d" % _served[-1].port


def groupStart():
    _group.calls = []


def groupEnd():
    calls, _group.calls = _group.calls, None
    stream = calls[0][0]
    done = [threading.Event() for _ in calls]

    def both():
        threads = [
            threading.Thread(target=lambda call=call, end=end: (call(), end.set()), daemon=True)
            for (_, call), end in zip(calls, done, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    of(stream).put(both)


def _dtype(kind):
    name = _KINDS[kind]
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def _at(ptr, count, kind):
    dtype = _dtype(kind)
    data = (ctypes.c_char * max(1, count * dtype.itemsize)).from_address(ptr)
    return np.frombuffer(data, dtype, count)


class NcclCommunicator:
    def __init__(self, size, identity, rank):
        assert isinstance(identity, bytes) and 0 <= rank < size
        self._size, self._rank = size, rank
        self._stores = [TCPStore("127.0.0.1", int(identity)) for _ in range(2)]  # of each direction
        self._sent, self._got, self._calls, self._over = Counter(), Counter(), 0, False

    def _get(self, store, keys):
        while not self._over:
            try:
                store.wait(keys, _SHORT)
                return store.multi_get(keys)
            except DistStoreError:
                continue
        raise SystemExit

    def _begin(self, stream, call):
        assert not self._over, "used after its end"
        of(stream).put(call)

    def _of_all(self, mine, kind):
        self._calls += 1
        number, store = self._calls, self._stores[0]
        store.set(f"{number}/{self._rank}", mine.tobytes())
        found = self._get(store, [f"{number}/{rank}" for rank in range(self._size)])
        return [np.frombuffer(each, _dtype(kind)) for each in found]

    def _reduced(self, given, kind, op):
        every = self._of_all(given, kind)
        total = every[0].copy()
        for each in every[1:]:
            total = _COMBINE[op](total, each)
        return total

    def allReduce(self, there, back, count, kind, op, stream):
        def call():
            _at(back, count, kind)[...] = self._reduced(_at(there, count, kind), kind, op)

        self._begin(stream, call)

    def reduce(self, there, back, count, kind, op, root, stream):
        def call():
            found = self._reduced(_at(there, count, kind), kind, op)
            if self._rank == root:
                _at(back, count, kind)[...] = found

        self._begin(stream, call)

    def broadcast(self, there, back, count, kind, root, stream):
        def call():
            found = self._of_all(_at(there, count, kind), kind)[root]
            _at(back, count, kind)[...] = found

        self._begin(stream, call)

    def allGather(self, there, back, count, kind, stream):
        def call():
            found = np.concatenate(self._of_all(_at(there, count, kind), kind))
            _at(back, count * self._size, kind)[...] = found

        self._begin(stream, call)

    def reduceScatter(self, there, back, count, kind, op, stream):
        def call():
            found = self._reduced(_at(there, count * self._size, kind), kind, op)
            _at(back, count, kind)[...] = found.reshape(self._size, count)[self._rank]

        self._begin(stream, call)

    def _message(self, stream, call):
        if getattr(_group, "calls", None) is None:
            self._begin(stream, call)
        else:
            _group.calls.append((stream, call))

    def send(self, there, count, kind, peer, stream):
        def call():
            self._sent[peer] += 1
            key = f"{self._rank} to {peer}, {self._sent[peer]}"
            self._stores[0].set(key, _at(there, count, kind).tobytes())
            self._get(self._stores[0], [f"{key} taken"])  # as late as it may be

        self._message(stream, call)

    def recv(self, back, count, kind, peer, stream):
        def call():
            self._got[peer] += 1
            key = f"{peer} to {self._rank}, {self._got[peer]}"
            (found,) = self._get(self._stores[1], [key])
            _at(back, count, kind)[...] = np.frombuffer(found, _dtype(kind))
            self._stores[1].set(f"{key} taken", b"")

        self._message(stream, call)

    def check_async_error(self):
        assert not self._over

    def abort(self):
        self._over = True
