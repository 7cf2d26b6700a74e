"""Applications of Ringi: they use what its rooms export, and its core does not know them."""
