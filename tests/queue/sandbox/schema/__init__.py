"""What a definition makes of objects, against what a real API server made of them."""
