import torch
import torch.nn as nn
actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
log_alpha = torch.zeros((), requires_grad=True)
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters(), log_alpha])
for step in range(5):
    state, returns = torch.randn(8, 4), torch.randn(8)
    policy = torch.distributions.Categorical(logits=actor(state))
    action, value = policy.sample(), critic(state).squeeze(-1)
    advantage = returns - value
    log_prob = policy.log_prob(action)
    loss = -(log_prob * advantage.detach()).mean() + advantage.pow(2).mean()
    loss = loss + (log_alpha.exp() * log_prob).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
