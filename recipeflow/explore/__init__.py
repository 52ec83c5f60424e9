"""The explorer: a release or a built dataset as web pages, served or exported as a static site."""
