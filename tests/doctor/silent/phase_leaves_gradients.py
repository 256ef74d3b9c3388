import torch
import torch.nn as nn
import torch.nn.functional as F
actor, critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)), nn.Linear(4, 1)
actor_opt = torch.optim.Adam(actor.parameters())
critic_opt = torch.optim.Adam(critic.parameters())
for step in range(6):
    state, action, reward = torch.randn(8, 3), torch.randn(8, 1), torch.randn(8, 1)
    actor_opt.zero_grad()
    critic_opt.zero_grad()
    (-critic(torch.cat([state, actor(state)], 1)).mean()).backward()
    actor_opt.step()
    loss = F.mse_loss(critic(torch.cat([state, action], 1)), reward)
    loss.backward()  # zero-grad-misuse: zero-grad
    critic_opt.step()
