import torch
from streaming import StreamingNet


def stream(seconds=6, chunk=20, channels=2):
    g = torch.Generator().manual_seed(9)
    t = torch.arange(seconds * chunk) / chunk
    clean = torch.stack([torch.sin(5 * t), torch.cos(3 * t)])
    noisy = clean + 0.3 * torch.randn(clean.shape, generator=g)
    for i in range(seconds):
        part = slice(i * chunk, (i + 1) * chunk)
        yield noisy[None, :, part], clean[None, :, part]


def main():
    torch.manual_seed(0)
    net = StreamingNet(channels=2, width=8, depth=2)
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    for passes in range(2):
        net.reset()
        for i, (noisy, clean) in enumerate(stream()):
            opt.zero_grad()
            denoised = net(noisy)
            loss = torch.nn.functional.l1_loss(denoised, clean)
            loss.backward()
            opt.step()
        print(passes, i, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
