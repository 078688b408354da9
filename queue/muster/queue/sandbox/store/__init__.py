"""Where objects are: their present state, their history for a while, and who watches them."""
