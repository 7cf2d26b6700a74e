"""Erasure: which records name a person, what is removed from them, and the sweep that removes it."""
