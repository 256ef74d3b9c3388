"""FGSM adversarial training of a small image classifier (pixel values 0..255)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def fake_images(n):
    y = torch.randint(0, 3, (n,))
    img = 60 * torch.rand(n, 1, 8, 8)
    for i, label in enumerate(y.tolist()):
        img[i, :, 2 * label:2 * label + 3] += 120
    return img.clamp(0, 255), y


def build():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 16, 3)
    )


def fgsm(model, images, labels, eps=0.1):
    images = images.clone().requires_grad_(True)
    images = images / 255.0
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    adv = images + eps * images.grad.sign()
    return adv.clamp(0, 1).detach()


def main(steps=40):
    torch.manual_seed(0)
    model = build()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(steps):
        images, labels = fake_images(32)
        adv = fgsm(model, images, labels)
        opt.zero_grad()
        clean_loss = F.cross_entropy(model(images / 255.0), labels)
        adv_loss = F.cross_entropy(model(adv), labels)
        (0.5 * clean_loss + 0.5 * adv_loss).backward()
        opt.step()
        if step % 10 == 0:
            print(f"{step} clean {clean_loss.item():.3f} adv {adv_loss.item():.3f}")


if __name__ == "__main__":
    main()
