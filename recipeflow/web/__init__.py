"""What the pages of this project share: the shape of a recipe, pictures, security, serving and components."""
