"""What a person looks at after an evaluation."""
