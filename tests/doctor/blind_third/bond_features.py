import torch
import torch.nn as nn


class PretrainedExtractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16)
        self.proj = nn.Linear(16, 24)

    def forward(self, atoms):
        return torch.relu(self.proj(self.embed(atoms))).sum(dim=1)


class Regressor(nn.Module):
    def __init__(self, extractor):
        super().__init__()
        self.extractor = extractor.eval()
        for p in self.extractor.parameters():
            p.requires_grad_(False)
        self.head = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 1))

    def features(self, atoms):
        # frozen part, no need to track anything here
        with torch.inference_mode():
            return self.extractor(atoms)

    def forward(self, atoms):
        return self.head(self.features(atoms)).squeeze(-1)


def main():
    torch.manual_seed(13)
    model = Regressor(PretrainedExtractor())
    atoms = torch.randint(0, 30, (200, 9))
    energy = (atoms % 5).float().mean(dim=1)
    opt = torch.optim.Adam(model.head.parameters(), lr=1e-2)
    for epoch in range(40):
        pred = model(atoms)
        loss = nn.functional.smooth_l1_loss(pred, energy)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if epoch % 10 == 0:
            print(epoch, f"{loss.item():.5f}")


if __name__ == "__main__":
    main()
