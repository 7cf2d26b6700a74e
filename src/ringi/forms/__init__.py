"""What surrounds forms: the repair of those that a model wrote."""
