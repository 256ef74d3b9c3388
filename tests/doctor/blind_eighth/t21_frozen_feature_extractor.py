"""Use a pretrained CNN as a fixed feature extractor and train only a new last layer."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(20)


class Backbone(nn.Module):
    def __init__(self, n_classes=100):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x)).mean(dim=(2, 3))
        return self.fc(x)


def set_parameter_requires_grad(model, feature_extracting):
    if feature_extracting:
        for param in model.parameters():
            param.requires_grad = False


def initialize_model(num_classes, feature_extract=True):
    model = Backbone()
    model.fc = nn.Linear(model.fc.in_features, num_classes)
    set_parameter_requires_grad(model, feature_extract)
    return model


def train_model(model, images, labels, num_epochs=5):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(num_epochs):
        running_corrects = 0
        for idx in torch.randperm(len(images)).split(16):
            optimizer.zero_grad()
            outputs = model(images[idx])
            loss = criterion(outputs, labels[idx])
            loss.backward()
            optimizer.step()
            running_corrects += (outputs.argmax(1) == labels[idx]).sum().item()
        print(f"Epoch {epoch}: acc {running_corrects / len(images):.3f}")


images = torch.randn(64, 3, 12, 12)
labels = (images.mean(dim=(1, 2, 3)) > 0).long()
model_ft = initialize_model(2)
train_model(model_ft, images, labels)
