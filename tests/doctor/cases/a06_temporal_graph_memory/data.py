import torch


def event_stream(nodes, batches, size, seed=5):
    """Batches of edges (src, dst) with a label and a time, always in the same order."""
    gen = torch.Generator().manual_seed(seed)
    now = 0.0
    for _ in range(batches):
        src = torch.randperm(nodes, generator=gen)[:size]
        dst = torch.randperm(nodes, generator=gen)[:size]
        label = ((src + dst) % 3 == 0).float()
        now += 1.0
        yield src, dst, label, torch.full((size, 1), now)
