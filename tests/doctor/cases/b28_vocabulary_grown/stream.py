import torch


def sentences(count, length=8, batch=6):
    """Word ids and tags (the tag of a word is its id modulo three); new words appear at step 20."""
    generator = torch.Generator().manual_seed(3)
    for step in range(count):
        known = 20 if step < 20 else 34
        words = torch.randint(0, known, (batch, length), generator=generator)
        yield words, words % 3
