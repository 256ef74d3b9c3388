import torch
from students import Net, consistency
from teacher import MeanTeacher


def main(steps=5):
    torch.manual_seed(21)
    student = Net()
    teacher = MeanTeacher(student, decay=0.9)
    optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)
    for step in range(steps):
        labelled, labels = torch.randn(8, 6), torch.randint(0, 3, (8,))
        unlabelled = torch.randn(16, 6)
        supervised = torch.nn.functional.cross_entropy(student(labelled), labels)
        agreement = consistency(student(unlabelled), teacher.predict(unlabelled))
        loss = supervised + min(1.0, step / 3) * agreement
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        teacher.follow(student)
        print(step, f"{supervised.item():.3f} {agreement.item():.4f}")


if __name__ == "__main__":
    main()
