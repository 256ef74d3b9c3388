"""Actor-critic with one trunk and two heads: two losses, added up, one backward.

The advantage is used twice: as the critic's error, with its graph, and as the weight of the actor's
loss, where it is a number (`detach`), or the actor would teach the critic to flatter it.
"""

import torch
import torch.nn.functional as F
from cartpole import CartPole
from torch import nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    """What to do, and how well things stand."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Linear(4, 48)
        self.actor = nn.Linear(48, 2)
        self.critic = nn.Linear(48, 1)

    def forward(self, state: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        features = torch.tanh(self.trunk(state))
        return Categorical(logits=self.actor(features)), self.critic(features).squeeze(-1)


def main() -> None:
    torch.manual_seed(8)
    world = CartPole(seed=8)
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    state, rewards_seen, episodes = world.reset(), 0, 0
    for update in range(1, 61):
        scores, values, rewards, ends, beliefs = [], [], [], [], []
        for _ in range(20):
            belief, value = model(torch.tensor(state))
            action = belief.sample()
            state, reward, done = world.step(int(action))
            scores.append(belief.log_prob(action))
            beliefs.append(belief.entropy())
            values.append(value)
            rewards.append(reward)
            ends.append(done)
            if done:
                state, episodes = world.reset(), episodes + 1
        rewards_seen += len(rewards)

        with torch.no_grad():  # what comes after the last step is an estimate, not a prediction
            _, later = model(torch.tensor(state))
        returns = []
        for reward, done in zip(reversed(rewards), reversed(ends)):
            later = reward + 0.98 * later * (1 - done)
            returns.append(later)
        returns = torch.stack(returns[::-1])

        advantage = returns - torch.stack(values)
        actor = -(torch.stack(scores) * advantage.detach()).mean()
        critic = F.smooth_l1_loss(torch.stack(values), returns)
        loss = actor + 0.5 * critic - 0.01 * torch.stack(beliefs).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        if update % 12 == 0:
            print(f"update {update:2d}  actor {actor.item():.4f}  critic {critic.item():.4f}")
    print(f"{episodes} episodes in {rewards_seen} steps")


if __name__ == "__main__":
    main()
