"""The explorer: a release or a built dataset as pages to look at, served or written as a static site."""
