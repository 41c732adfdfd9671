"""What runs apart from the program: the fork server and, confined, the jobs that it forks."""
