"""Policies living through worlds and logs: simulation, replay, rejection."""
