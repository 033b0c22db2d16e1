"""What the notes of explained queries come to: each query as it was answered, and one sentence that says why. Pure."""
