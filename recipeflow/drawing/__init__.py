"""What all pictures share: colours, fonts and the contact sheet."""
