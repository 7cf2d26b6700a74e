"""Forms, their JSON Schema, and the repair of forms that a model wrote."""
