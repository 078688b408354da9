"""The verbs: one path for every write, admission, conversion, and the kinds that users define."""
