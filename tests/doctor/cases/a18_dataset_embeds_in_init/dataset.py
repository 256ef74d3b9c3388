import torch
from torch.utils.data import Dataset


class SessionDataset(Dataset):
    """Click sessions: the items of a session as vectors, and the item clicked next."""

    def __init__(self, sessions, length, items, embedding):
        gen = torch.Generator().manual_seed(4)
        start = torch.randint(0, items, (sessions, 1), generator=gen)
        stride = torch.randint(1, 3, (sessions, 1), generator=gen)
        clicks = (start + stride * torch.arange(length + 1)) % items
        self.targets = clicks[:, -1]
        self.vectors = embedding(clicks[:, :-1])

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        return self.vectors[i], self.targets[i]


def collate(samples):
    vectors, targets = zip(*samples)
    return torch.stack(vectors), torch.stack(targets)
