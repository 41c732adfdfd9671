"""Whether the result of code can be right: by arithmetic, and by computing it again."""
