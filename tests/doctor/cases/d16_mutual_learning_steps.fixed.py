import torch
import torch.nn as nn
import torch.nn.functional as F


def student(width):
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 4))


def kl(student_logits, teacher_logits, t=2.0):
    p = F.softmax(teacher_logits / t, dim=1)
    return F.kl_div(F.log_softmax(student_logits / t, dim=1), p, reduction="batchmean") * t * t


def train_pair(net_a, net_b, loader, epochs=2):
    opt_a = torch.optim.SGD(net_a.parameters(), lr=0.05)
    opt_b = torch.optim.SGD(net_b.parameters(), lr=0.05)
    for epoch in range(epochs):
        sum_a = sum_b = 0.0
        for x, y in loader:
            logits_a = net_a(x)
            logits_b = net_b(x)
            loss_a = F.cross_entropy(logits_a, y) + kl(logits_a, logits_b.detach())
            loss_b = F.cross_entropy(logits_b, y) + kl(logits_b, logits_a.detach())

            opt_a.zero_grad()
            loss_a.backward()
            opt_a.step()

            opt_b.zero_grad()
            loss_b.backward()
            opt_b.step()
            sum_a, sum_b = sum_a + loss_a.item(), sum_b + loss_b.item()
        print(epoch, round(sum_a, 4), round(sum_b, 4))


def main():
    torch.manual_seed(6)
    x = torch.randn(64, 8)
    y = x[:, :4].argmax(1)
    loader = [(x[i:i + 16], y[i:i + 16]) for i in range(0, 64, 16)]
    train_pair(student(16), student(32), loader)


if __name__ == "__main__":
    main()
