import torch
from torch import nn
from torch.autograd import Variable
net, criterion = nn.Linear(4, 2), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(4):
    inputs, labels = Variable(torch.randn(6, 4)), Variable(torch.randint(0, 2, (6,)))
    outputs = net(inputs)
    outputs = Variable(outputs.data, requires_grad=True)  # broken-graph: keep-graph
    loss = criterion(outputs, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
