"""An assistant that talks, gathers what is missing, plans, takes criticism, and applies what a person approved."""
