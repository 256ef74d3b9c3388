import torch
torch.manual_seed(0)
body, last = torch.nn.Linear(6, 8), torch.nn.Linear(8, 1)
opt = torch.optim.Adam([*body.parameters(), *last.parameters()], lr=1e-2)
x, y = torch.randn(32, 6), torch.randint(0, 2, (32, 1)).float()
for step in range(6):
    p = torch.softmax(last(torch.relu(body(x))), dim=1)  # broken-graph: keep-graph
    loss = (p - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
