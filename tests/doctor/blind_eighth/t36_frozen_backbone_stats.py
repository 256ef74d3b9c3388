"""Linear probing: the backbone must stay exactly as it was pretrained."""
import torch
import torch.nn as nn

torch.manual_seed(35)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.block2 = nn.Sequential(nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU())

    def forward(self, x):
        return self.block2(self.block1(x))


class Probe(nn.Module):
    def __init__(self, encoder, n_classes):
        super().__init__()
        self.encoder = encoder
        self.classifier = nn.Linear(32, n_classes)

    def freeze_encoder(self):
        for p in self.encoder.parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.classifier(self.encoder(x))


def pretrain(encoder):
    decoder = nn.Linear(32, 16)
    opt = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=5e-3)
    for _ in range(60):
        x = torch.randn(64, 16)
        loss = (decoder(encoder(x)) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


encoder = Encoder()
pretrain(encoder)
probe = Probe(encoder, 3)
probe.freeze_encoder()
before = {k: v.clone() for k, v in probe.encoder.state_dict().items()}

x = 2.0 + 3.0 * torch.randn(300, 16)
y = x[:, :3].argmax(1)
opt = torch.optim.Adam([p for p in probe.parameters() if p.requires_grad], lr=1e-2)
for epoch in range(15):
    probe.train()
    for idx in torch.randperm(300).split(50):
        loss = nn.functional.cross_entropy(probe(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()

probe.eval()
acc = (probe(x).argmax(1) == y).float().mean().item()
drift = max((v.float() - before[k].float()).abs().max().item()
            for k, v in probe.encoder.state_dict().items() if "num_batches" not in k)
print(f"probe acc {acc:.3f}, largest change inside the encoder {drift:.4f}")
