import torch

model = torch.nn.Linear(10, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

x = torch.randn(1, 10)
y = torch.randn(1, 1)

output = model(x)

loss = torch.nn.MSELoss()(output, y)

loss.backward()
gradients = [p.grad.clone().detach() for p in model.parameters()]
optimizer.step()
optimizer.zero_grad()

for i, p in enumerate(model.parameters()):
    p.grad = gradients[i]

optimizer.step()
optimizer.zero_grad()
