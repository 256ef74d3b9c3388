"""One-step actor-critic with a shared body and two optimizers, on a cart that must stay near zero."""
import torch
import torch.nn as nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self, obs=2, actions=2, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, actions)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class Cart:
    def reset(self):
        self.s = 0.5 * torch.randn(2)
        self.t = 0
        return self.s.clone()

    def step(self, a):
        force = 0.2 if a == 1 else -0.2
        vel = self.s[1] + force + 0.02 * torch.randn(())
        pos = self.s[0] + 0.1 * vel
        self.s = torch.stack([pos, vel])
        self.t += 1
        done = self.t >= 25 or abs(pos.item()) > 3
        return self.s.clone(), -pos.item() ** 2, done


def train(episodes=12, gamma=0.98):
    torch.manual_seed(5)
    env, net = Cart(), ActorCritic()
    actor_opt = torch.optim.Adam([*net.body.parameters(), *net.pi.parameters()], lr=1e-3)
    critic_opt = torch.optim.Adam(net.v.parameters(), lr=5e-3)
    for ep in range(episodes):
        obs, done, ret = env.reset(), False, 0.0
        while not done:
            dist, value = net(obs)
            action = dist.sample()
            nxt, reward, done = env.step(action.item())
            with torch.no_grad():
                _, next_value = net(nxt)
                target = reward + gamma * next_value * (0.0 if done else 1.0)
            advantage = target - value

            actor_loss = -dist.log_prob(action) * advantage.detach()
            critic_loss = advantage.pow(2)

            actor_opt.zero_grad()
            critic_opt.zero_grad()
            critic_loss.backward()
            actor_loss.backward()
            actor_opt.step()
            critic_opt.step()
            obs, ret = nxt, ret + reward
        print(f"episode {ep} return {ret:.2f}")
    return net


if __name__ == "__main__":
    train()
