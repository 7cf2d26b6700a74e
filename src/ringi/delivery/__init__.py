"""Tell people and other systems: webhooks and mail, each delivery tried again until it arrives."""
