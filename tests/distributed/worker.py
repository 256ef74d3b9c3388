"""One process of a pool: does the exchanges that it reads, on the library that it was told.

Run as a program, by `pool.py`. What each process gives follows from the case and its rank, so that
the processes of two libraries give the same.
"""

import importlib
import json
import os
import sys
from datetime import timedelta

import numpy as np


def given(lib, case, rank, count, number=0):
    """The tensor that a process gives: small numbers, exact in every dtype."""
    generator = np.random.default_rng([case["seed"], rank, number])
    shape = [count, *case["rest"]] if case["rest"] is not None else []
    low, high = (
        (0, 2) if case["dtype"] == "bool" else (0, 8) if case["dtype"] == "uint8" else (-5, 6)
    )
    values = lib.tensor(generator.integers(low, high, shape).tolist(), dtype=lib.float64)
    made = values.reshape(shape).to(getattr(lib, case["dtype"]))
    if case["turned"] and made.dim() == 2:
        made = made.t().contiguous().t()  # dense, in another order
    return made


def done(lib, dist, group, case, rank, size, number):
    """Do one exchange; the tensors that this process has then."""
    op, count, root = case["op"], case["count"], case["root"] % size
    if op == "all_to_all_single":  # refused unless contiguous, by those that have enough rows
        case["turned"] = False
    how = getattr(dist.ReduceOp, case["reduce"])
    options = {"group": group, "async_op": case["async"]}
    mine = given(lib, case, rank, count)
    empty = lambda length=count: given(lib, case, rank, length, 99)  # noqa: E731
    result, work = [mine], None
    if op == "all_reduce":
        work = dist.all_reduce(mine, how, **options)
    elif op == "reduce":
        work = dist.reduce(mine, group_dst=root, op=how, **options)
        result = [mine] if rank == root else []  # what others have then is not said
    elif op == "broadcast":
        work = dist.broadcast(mine, group_src=root, **options)
    elif op == "all_gather":
        result = [empty() for _ in range(size)]
        work = dist.all_gather(result, mine, **options)
    elif op == "all_gather_single":
        result = [empty(count * size)]
        work = dist.all_gather_single(result[0], mine, **options)
    elif op == "gather":
        result = [empty() for _ in range(size)] if rank == root else []
        work = dist.gather(mine, result or None, group_dst=root, **options)
    elif op == "scatter":
        parts = [given(lib, case, rank, count, at) for at in range(size)]
        work = dist.scatter(mine, parts if rank == root else None, group_src=root, **options)
    elif op == "reduce_scatter":
        parts = [given(lib, case, rank, count, at) for at in range(size)]
        work = dist.reduce_scatter(mine, parts, how, **options)
    elif op == "reduce_scatter_single":
        work = dist.reduce_scatter_single(
            mine, given(lib, case, rank, count * size), how, **options
        )
    elif op == "all_to_all":
        parts = [given(lib, case, rank, count, at) for at in range(size)]
        result = [empty() for _ in range(size)]
        work = dist.all_to_all(result, parts, **options)
    elif op == "all_to_all_single":
        lengths = [[(case["seed"] + a * size + b) % 3 for b in range(size)] for a in range(size)]
        out, into = lengths[rank], [lengths[other][rank] for other in range(size)]
        result = [empty(sum(into))]
        work = dist.all_to_all_single(
            result[0], given(lib, case, rank, sum(out)), into, out, **options
        )
    elif op == "objects":
        found = [None] * size
        dist.all_gather_object(found, {"rank": rank, "x": "y" * case["seed"]}, group=group)
        return found
    elif op == "around":
        right, left = (rank + 1) % size, (rank - 1) % size
        got = empty()
        if size > 1:
            ops = [
                dist.P2POp(
                    dist.isend, mine.contiguous(), group=group, group_peer=right, tag=number
                ),
                dist.P2POp(dist.irecv, got, group=group, group_peer=left, tag=number),
            ]
            for each in dist.batch_isend_irecv(ops):
                each.wait()
        result = [got]
    if work is not None:
        work.wait()
    return [
        [str(each.dtype), list(each.shape), each.to(lib.complex128).tolist()] for each in result
    ]


def main(name):
    """Join, and do what is read until there is no more."""
    lib = importlib.import_module(name)
    dist = importlib.import_module(f"{name}.distributed")
    dist.init_process_group("gloo", timeout=timedelta(seconds=300))
    rank, size = dist.get_rank(), dist.get_world_size()
    groups = {"all": (None, list(range(size)))}
    for text in ("first", "odd", "last"):
        ranks = {"first": [0], "odd": list(range(1, size, 2)), "last": list(range(1, size))}[text]
        groups[text] = (dist.new_group(ranks), ranks)
    print("ready", flush=True)
    for number, line in enumerate(sys.stdin):
        case = json.loads(line)
        group, ranks = groups[case["group"]]
        try:
            if rank not in ranks:
                found = []
            else:
                found = done(lib, dist, group, case, ranks.index(rank), len(ranks), number)
        except Exception as error:
            found = [type(error).__name__, str(error).partition("\n")[0]]
        print(json.dumps(found, default=lambda value: [value.real, value.imag]), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(sys.argv[1])
