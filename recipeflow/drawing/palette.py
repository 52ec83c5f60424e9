"""The colours of all pictures and plots."""

PAPER, INK, SOFT, LINE, ACCENT = "#fbf8f2", "#2b2622", "#8a7f75", "#e4dccf", "#c8552f"
