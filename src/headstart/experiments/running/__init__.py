"""What an experiment is, how it is found and run, and how its results are written down."""
