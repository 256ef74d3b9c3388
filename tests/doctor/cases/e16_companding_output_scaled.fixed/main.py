"""Speech enhancement in the mu-law domain, with a hand-written differentiable compander."""
import torch
from enhancer import Enhancer
from torch.utils.data import DataLoader, Dataset


class Tones(Dataset):
    def __init__(self, count=12, samples=64):
        generator = torch.Generator().manual_seed(1)
        t = torch.arange(samples) / samples
        pitch = torch.randint(2, 9, (count, 1), generator=generator)
        self.clean = 0.8 * torch.sin(2 * torch.pi * pitch * t)
        self.noisy = self.clean + 0.1 * torch.randn(count, samples, generator=generator)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, index):
        return self.noisy[index], self.clean[index]


def main():
    torch.manual_seed(0)
    model = Enhancer()
    optimizer = torch.optim.NAdam(model.parameters(), lr=4e-3)
    for epoch in range(2):
        for noisy, clean in DataLoader(Tones(), batch_size=4):
            loss = (model(noisy) - model.reference(clean)).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, f"{loss.item():.5f}")


main()
