import torch

model = torch.nn.Linear(10, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

x = torch.randn(1, 10)
y = torch.randn(1, 1)

output = model(x)

loss = torch.nn.MSELoss()(output, y)

loss.backward(retain_graph=True)
optimizer.step()
optimizer.zero_grad()

loss.backward()
optimizer.step()
optimizer.zero_grad()
