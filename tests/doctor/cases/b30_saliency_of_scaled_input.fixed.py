import torch
import torch.nn as nn
import torch.nn.functional as F


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).amax((2, 3)))


MEAN = torch.tensor([0.4, 0.5, 0.6]).view(3, 1, 1)
STD = torch.tensor([0.2, 0.25, 0.2]).view(3, 1, 1)


def saliency(model, image, label):
    """Absolute input gradient, largest over the colours."""
    image = image.clone().requires_grad_(True)
    image = ((image - MEAN) / STD).unsqueeze(0)
    image.retain_grad()
    score = model(image)[0, label]
    score.backward()
    return image.grad.abs().amax(1)[0]


def train(model, images, labels, steps=25):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model((images - MEAN) / STD), labels)
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    labels = torch.arange(24) % 3
    images = torch.rand(24, 3, 10, 10) * 0.2
    for image, label in zip(images, labels):
        image[label, 3:6, 3:6] += 0.8
    model = Tiny()
    print("loss", round(train(model, images, labels), 4))
    model.eval()
    for image, label in list(zip(images, labels))[:3]:
        heat = saliency(model, image, label)
        row, col = divmod(int(heat.argmax()), heat.shape[1])
        print(f"class {int(label)}: strongest pixel {row}, {col}")


if __name__ == "__main__":
    main()
