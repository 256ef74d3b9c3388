"""A pole on a cart, to be kept upright: the environment of the reinforcement learning examples."""

import math
import random


class CartPole:
    """States: position, velocity, angle, angular velocity. Actions: push left (0), right (1)."""

    def __init__(self, seed: int, limit: int = 120):
        self.random = random.Random(seed)
        self.limit = limit

    def reset(self) -> list[float]:
        self.state = [self.random.uniform(-0.05, 0.05) for _ in range(4)]
        self.steps = 0
        return list(self.state)

    def step(self, action: int) -> tuple[list[float], float, bool]:
        """The next state, the reward, and whether the episode is over."""
        position, velocity, angle, spin = self.state
        push = 10.0 if action == 1 else -10.0
        sine, cosine = math.sin(angle), math.cos(angle)
        moved = (push + 0.05 * spin**2 * sine) / 1.1
        turned = (9.8 * sine - cosine * moved) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        pulled = moved - 0.05 * turned * cosine / 1.1
        self.state = [
            position + 0.02 * velocity,
            velocity + 0.02 * pulled,
            angle + 0.02 * spin,
            spin + 0.02 * turned,
        ]
        self.steps += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21
        return list(self.state), 1.0, fallen or self.steps >= self.limit
