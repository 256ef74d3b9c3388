import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(62)
torch.set_num_threads(1)
GRID, GAMMA = 4, 0.95


class Harbor:
    """Move a boat on a line of berths to the free one, which changes every episode."""

    def reset(self):
        self.boat = torch.randint(0, GRID, (1,)).item()
        self.free = torch.randint(0, GRID, (1,)).item()
        return self.observe()

    def observe(self):
        obs = torch.zeros(2 * GRID)
        obs[self.boat] = 1.0
        obs[GRID + self.free] = 1.0
        return obs

    def step(self, action):
        if action == 2:
            return self.observe(), 1.0 if self.boat == self.free else -0.3, True
        self.boat = min(GRID - 1, max(0, self.boat + (1 if action == 1 else -1)))
        return self.observe(), -0.03, False


actor = nn.Sequential(nn.Linear(2 * GRID, 48), nn.Tanh(), nn.Linear(48, 3))
critic = nn.Sequential(nn.Linear(2 * GRID, 48), nn.Tanh(), nn.Linear(48, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
env, scores = Harbor(), []

for episode in range(300):
    obs, done = env.reset(), False
    log_probs, values, rewards = [], [], []
    while not done and len(rewards) < 10:
        dist = Categorical(logits=actor(obs))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        values.append(critic(obs).squeeze(-1))
        obs, reward, done = env.step(action.item())
        rewards.append(reward)

    returns, running = [], 0.0
    for reward in reversed(rewards):
        running = reward + GAMMA * running
        returns.insert(0, running)
    returns, values = torch.tensor(returns), torch.stack(values)
    advantage = returns - values
    for opt, loss in (
        (actor_opt, -(torch.stack(log_probs) * advantage.detach()).sum()),
        (critic_opt, advantage.pow(2).mean()),
    ):
        opt.zero_grad()
        loss.backward()
        opt.step()
    scores.append(sum(rewards))
    if episode % 100 == 99:
        print(episode + 1, "mean score", round(sum(scores[-100:]) / 100, 3))
