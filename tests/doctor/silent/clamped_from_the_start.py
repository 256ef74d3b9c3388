import torch
torch.manual_seed(0)
policy = torch.nn.Linear(4, 1)
torch.nn.init.constant_(policy.bias, 30.0)
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
states = torch.randn(32, 4)
for step in range(6):
    action = policy(states).clamp(-1, 1)  # broken-graph: keep-graph
    loss = (action - 0.3).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
