"""Actor and critic on a shared trunk; the two losses are back propagated one after the other."""
import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(0)

trunk = nn.Sequential(nn.Linear(3, 32), nn.Tanh())
actor = nn.Linear(32, 1)
critic = nn.Linear(32, 1)
log_std = nn.Parameter(torch.tensor(-0.5))
params = [*trunk.parameters(), *actor.parameters(), *critic.parameters(), log_std]
opt = torch.optim.Adam(params, lr=3e-3)


def env_step(state, action):
    theta, omega, target = state.unbind(1)
    omega = 0.9 * omega + 0.3 * action
    theta = theta + 0.2 * omega
    reward = -(theta - target).abs()
    return torch.stack([theta, omega, target], 1), reward


for episode in range(25):
    state = torch.cat([torch.zeros(32, 2), torch.randn(32, 1)], 1)
    logps, values, rewards = [], [], []
    for _ in range(12):
        h = trunk(state)
        dist = Normal(actor(h).squeeze(1), log_std.exp())
        a = dist.sample()
        logps.append(dist.log_prob(a))
        values.append(critic(h).squeeze(1))
        state, r = env_step(state, a)
        rewards.append(r)

    returns, g = [], torch.zeros(32)
    for r in reversed(rewards):
        g = r + 0.95 * g
        returns.insert(0, g)
    returns, values, logps = torch.stack(returns), torch.stack(values), torch.stack(logps)
    advantage = (returns - values).detach()

    opt.zero_grad()
    actor_loss = -(logps * advantage).mean()
    critic_loss = (returns - values).pow(2).mean()
    actor_loss.backward(retain_graph=True)
    (0.5 * critic_loss).backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
    if episode % 8 == 0:
        print(episode, f"return {returns[0].mean().item():.3f}")
