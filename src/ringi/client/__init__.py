"""An inbox over HTTP."""
