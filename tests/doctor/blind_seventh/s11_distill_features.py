"""Feature distillation: student features are compared with a learned projection of the teacher's."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvNet(nn.Module):
    def __init__(self, width, classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.fc = nn.Linear(2 * width, classes)

    def forward(self, x):
        f = self.features(x)
        return f, self.fc(f)


class Distiller:
    def __init__(self, teacher, student, dim_t, dim_s, lr=2e-3, T=3.0):
        self.teacher = teacher.eval()
        self.student = student
        self.align = nn.Linear(dim_t, dim_s)
        self.T = T
        self.opt = torch.optim.Adam([*student.parameters(), *self.align.parameters()], lr=lr)

    @torch.inference_mode()
    def teacher_outputs(self, x):
        return self.teacher(x)

    def loss(self, x, y):
        feat_t, logit_t = self.teacher_outputs(x)
        feat_s, logit_s = self.student(x)
        hint = F.mse_loss(feat_s, self.align(feat_t))
        kd = F.kl_div(F.log_softmax(logit_s / self.T, 1), F.softmax(logit_t / self.T, 1),
                      reduction="batchmean") * self.T ** 2
        return F.cross_entropy(logit_s, y) + 0.5 * kd + 0.1 * hint

    def fit(self, batches):
        for i, (x, y) in enumerate(batches):
            self.opt.zero_grad()
            loss = self.loss(x, y)
            loss.backward()
            self.opt.step()
            if i % 10 == 0:
                print(f"batch {i}: {loss.item():.4f}")


def synthetic(n_batches=30, bs=16):
    for _ in range(n_batches):
        y = torch.randint(0, 4, (bs,))
        x = torch.randn(bs, 1, 8, 8) + y.view(-1, 1, 1, 1).float()
        yield x, y


if __name__ == "__main__":
    torch.manual_seed(0)
    distiller = Distiller(ConvNet(16), ConvNet(6), dim_t=32, dim_s=12)
    distiller.fit(synthetic())
