"""Proof that the record is whole: the chain of hashes is followed, and seals sign its state."""
