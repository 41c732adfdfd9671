"""What the Linux kernel takes away from a process: each file one of its mechanisms."""
