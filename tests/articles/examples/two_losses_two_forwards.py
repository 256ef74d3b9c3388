import torch

model = torch.nn.Sequential(torch.nn.Linear(10, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

x = torch.randn(1, 10)
y1 = torch.randn(1, 1)
y2 = torch.randn(1, 1)

output1 = model(x)
output2 = model(x)

loss1 = torch.nn.MSELoss()(output1, y1)
loss2 = torch.nn.MSELoss()(output2, y2)

loss1.backward(retain_graph=True)

loss2.backward()

optimizer.step()
optimizer.zero_grad()
