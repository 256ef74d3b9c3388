import torch
from mixture import Encoder, GaussianMixture


def main():
    torch.manual_seed(2)
    data = torch.cat([torch.randn(20, 4) + 3 * centre for centre in torch.eye(4)[:3]])
    encoder, mixture = Encoder(), GaussianMixture(parts=3)
    for outer in range(4):
        with torch.no_grad():
            codes = encoder(data)
            responsibility = mixture.responsibilities(codes)
            mixture.refit(codes, responsibility)
        # a new optimiser for each M-step: its moments belong to the old targets
        optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
        for inner in range(5):
            loss = encoder.m_step_loss(data, responsibility, mixture)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(outer, f"{loss.item():.4f}", responsibility.argmax(1).bincount(minlength=3).tolist())


main()
