"""What models are asked, and what they answer."""
