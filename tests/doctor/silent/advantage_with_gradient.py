import torch
import torch.nn as nn
actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()])
for step in range(5):
    state, returns = torch.randn(8, 4), torch.randn(8)
    policy = torch.distributions.Categorical(logits=actor(state))
    action, value = policy.sample(), critic(state).squeeze(-1)
    advantage = returns - value
    loss = -(policy.log_prob(action) * advantage).mean()  # target-with-gradient: detach
    loss = loss + 0.5 * (returns - value).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
