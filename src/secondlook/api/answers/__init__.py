"""What can be had of an answer that is there: its charts, a second check, files."""
