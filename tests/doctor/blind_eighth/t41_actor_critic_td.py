"""Online one-step actor-critic on a small corridor."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(40)

N_STATES, GAMMA = 7, 0.95


def one_hot(s):
    v = torch.zeros(N_STATES)
    v[s] = 1.0
    return v


class Corridor:
    def reset(self):
        self.s = N_STATES // 2
        return one_hot(self.s)

    def step(self, a):
        self.s += 1 if a == 1 else -1
        done = self.s in (0, N_STATES - 1)
        reward = 1.0 if self.s == N_STATES - 1 else 0.0
        return one_hot(self.s), reward, done


actor = nn.Linear(N_STATES, 2)
critic = nn.Sequential(nn.Linear(N_STATES, 16), nn.Tanh(), nn.Linear(16, 1))
opt_actor = torch.optim.Adam(actor.parameters(), lr=1e-2)
opt_critic = torch.optim.Adam(critic.parameters(), lr=1e-2)
env = Corridor()

wins = 0
for episode in range(60):
    state, done, steps = env.reset(), False, 0
    while not done and steps < 50:
        dist = Categorical(logits=actor(state))
        action = dist.sample()
        nxt, reward, done = env.step(action.item())
        with torch.no_grad():
            target = reward + (0.0 if done else GAMMA * critic(nxt))
        delta = target - critic(state)

        critic_loss = delta.pow(2).mean()
        opt_critic.zero_grad()
        critic_loss.backward()
        opt_critic.step()

        actor_loss = (-dist.log_prob(action) * delta).mean()
        opt_actor.zero_grad()
        actor_loss.backward()
        opt_actor.step()

        state, steps = nxt, steps + 1
    wins += int(reward == 1.0)
    if episode % 20 == 19:
        print(f"episode {episode + 1} wins {wins}")
        wins = 0
