import torch


def sentences(vocab, seed, count=4):
    gen = torch.Generator().manual_seed(seed)
    lengths = torch.randint(4, 9, (count,), generator=gen).tolist()
    return [torch.randint(0, vocab, (n,), generator=gen) for n in lengths]
