import torch
from optim import decay_groups
from vit import TinyViT


def patches(n=12):
    images = torch.randn(n, 9, 6)
    return images, (images[:, 4].sum(-1) > 0).long()


def main():
    torch.manual_seed(30)
    model = TinyViT()
    optimizer = torch.optim.AdamW(decay_groups(model, 0.05), lr=3e-3)
    start = model.position.detach().clone()
    for step in range(8):
        images, labels = patches()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}, positions moved by {(model.position - start).abs().max().item():.4f}")


if __name__ == "__main__":
    main()
