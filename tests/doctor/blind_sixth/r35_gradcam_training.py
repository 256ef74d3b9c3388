# Small CNN; the gradients of the last conv block are recorded while training (grad-cam statistics).
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SmallCNN(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.act = nn.ReLU(inplace=True)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = F.max_pool2d(self.act(self.conv1(x)), 2)
        x = self.act(self.conv2(x))
        return self.fc(x.mean(dim=(2, 3)))


class GradRecorder:
    def __init__(self, layer):
        self.norms = []
        self.handle = layer.register_full_backward_hook(self.hook)

    def hook(self, module, grad_input, grad_output):
        self.norms.append(grad_output[0].norm().item())

    def close(self):
        self.handle.remove()


def stripes(n, size=12):
    y = torch.randint(0, 2, (n,))
    wave = torch.sin(torch.arange(size) * 1.5 + 6.28 * torch.rand(n, 1))
    img = wave.unsqueeze(1).expand(n, size, size).clone()
    img[y == 1] = img[y == 1].transpose(1, 2)
    return (img + 0.3 * torch.randn_like(img)).unsqueeze(1), y


model = SmallCNN()
recorder = GradRecorder(model.conv2)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(30):
    x, y = stripes(32)
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(f"{step} loss {loss.item():.3f} grad at conv2 {recorder.norms[-1]:.2e}")
recorder.close()
