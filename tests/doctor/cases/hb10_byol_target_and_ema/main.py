import torch

from byol import Byol, regression_loss

torch.manual_seed(0)


def views(x):
    return (x * (torch.rand_like(x) > 0.1) + 0.1 * torch.randn_like(x) for _ in range(2))


def main():
    data = torch.randn(8, 16).repeat(16, 1)
    learner = Byol(features=16)
    optimizer = torch.optim.SGD(learner.trainable(), lr=0.1, momentum=0.9)
    for step in range(40):
        first, second = views(data)
        loss = regression_loss(learner.online(first), learner.targets(second).detach())
        loss = loss + regression_loss(learner.online(second), learner.targets(first).detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        learner.move_target(momentum=0.95 + 0.05 * step / 40)
        if step % 10 == 9:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
