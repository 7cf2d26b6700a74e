"""Three assistants that share the database of a small company: for projects, for sales, and for quick questions."""
