"""A proxy for the Agent Client Protocol: an editor's agent asks for permission in the inbox."""
