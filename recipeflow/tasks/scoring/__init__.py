"""Score predictions on task sets: tables with intervals, and a page of questions and answers."""
