"""Shared by the pages: the JSON of a recipe, pictures, security, serving and components."""
