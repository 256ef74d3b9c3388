"""What starts a program in several processes, watches them, and says how they ended."""
