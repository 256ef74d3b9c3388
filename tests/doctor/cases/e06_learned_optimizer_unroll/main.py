import torch
from learned import CoordinateLSTM
from problems import Quadratic

UNROLL, WINDOWS = 4, 5


def meta_train():
    torch.manual_seed(7)
    learned = CoordinateLSTM(hidden=8)
    meta_optimizer = torch.optim.Adam(learned.parameters(), lr=5e-3)
    problem = Quadratic(dim=6)
    theta = problem.start()
    for window in range(WINDOWS):
        memory = learned.fresh_memory(theta.numel())
        meta_loss = 0.0
        for _ in range(UNROLL):
            value, slope = problem.value_and_slope(theta)
            update, memory = learned(slope, memory)
            theta = theta + update
            meta_loss = meta_loss + problem.value(theta)
        meta_optimizer.zero_grad()
        meta_loss.backward()
        meta_optimizer.step()
        print(window, f"{meta_loss.item():.4f}")


if __name__ == "__main__":
    meta_train()
