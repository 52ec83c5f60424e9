"""Processes, devices and machines that work together: a launch, its waits and checks, our workers, a Ray cluster."""
