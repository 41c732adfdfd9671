"""What an unclear word of a question may stand for, by rules: no model is asked."""
