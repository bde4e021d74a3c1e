"""The HTTP skin around the engine: paths, keys, bodies, metrics, the OpenAPI document, the running server."""
