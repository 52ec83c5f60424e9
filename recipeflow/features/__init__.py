"""Frames to vectors: the frozen backbone, its cache, and pixels to fine-tune on."""
