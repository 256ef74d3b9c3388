# PPO on a contextual bandit: the right arm is given by the sign of two features
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.Tanh())
        self.pi = nn.Linear(32, 4)
        self.v = nn.Linear(32, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def reward_of(obs, action):
    best = (obs[:, 0] > 0).long() * 2 + (obs[:, 1] > 0).long()
    return (action == best).float()


def collect(policy, n=256):
    obs = torch.randn(n, 2)
    with torch.no_grad():
        dist, _ = policy(obs)
        action = dist.sample()
    return obs, action, reward_of(obs, action)


def ppo_loss(policy, obs, action, reward, clip=0.2):
    dist, value = policy(obs)
    logp = dist.log_prob(action)
    old_dist, _ = policy(obs)
    old_logp = old_dist.log_prob(action)
    adv = reward - value.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    ratio = torch.exp(logp - old_logp)
    surrogate = torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv)
    value_loss = (value - reward).pow(2).mean()
    return -surrogate.mean() + 0.5 * value_loss


policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
rewards = []
for it in range(40):
    obs, action, reward = collect(policy)
    for _ in range(4):
        loss = ppo_loss(policy, obs, action, reward)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        opt.step()
    rewards.append(reward.mean().item())
    if it % 10 == 9:
        print(f"iteration {it + 1}: mean reward {sum(rewards[-10:]) / 10:.3f}")
