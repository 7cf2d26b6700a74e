"""The command `ringi`, also as `python -m ringi`."""

from ringi.cli import main

main()
