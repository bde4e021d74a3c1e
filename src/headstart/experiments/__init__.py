"""Experiments: how they are run, the paper's, our leagues, and the relatives that they are compared with."""
