"""The verbs of the API, without HTTP: what is asked, what is answered, and what is refused."""
