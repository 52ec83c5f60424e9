"""Other annotation formats, from and to a release."""
