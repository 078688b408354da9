"""What the fields of a kind are: read from OpenAPI once, used by everything that walks objects."""
