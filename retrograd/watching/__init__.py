"""What a running program tells: its lines, its backward calls, its steps, its live graph."""
