"""The API server over HTTP: paths, media types, streams. What is asked is answered elsewhere."""
