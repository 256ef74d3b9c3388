import torch
import torch.nn as nn
from torch.distributions import Categorical


class Corridor:
    """Walk right to the goal; the state is a one-hot position."""

    def __init__(self, length=7):
        self.length = length

    def observe(self):
        obs = torch.zeros(self.length)
        obs[self.position] = 1.0
        return obs

    def reset(self):
        self.position = 0
        self.steps = 0
        return self.observe()

    def step(self, action):
        self.position = min(max(self.position + (1 if action == 1 else -1), 0), self.length - 1)
        self.steps += 1
        goal = self.position == self.length - 1
        return self.observe(), 1.0 if goal else -0.02, goal or self.steps >= 25


class ActorCritic(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(n_obs, 16), nn.Tanh(), nn.Linear(16, n_actions))
        self.critic = nn.Sequential(nn.Linear(n_obs, 16), nn.Tanh(), nn.Linear(16, 1))


torch.manual_seed(4)
GAMMA = 0.97
env = Corridor()
net = ActorCritic(env.length, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

for episode in range(12):
    obs = env.reset()
    value = net.critic(obs).squeeze(-1)
    done, score = False, 0.0
    while not done:
        dist = Categorical(logits=net.actor(obs))
        action = dist.sample()
        next_obs, reward, done = env.step(action.item())
        next_value = net.critic(next_obs).squeeze(-1)
        target = reward + (0.0 if done else GAMMA * next_value)
        advantage = target - value
        loss = advantage.pow(2) - dist.log_prob(action) * advantage.detach()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        obs, value = next_obs, next_value
        score += reward
    print(episode, env.steps, round(score, 2))
