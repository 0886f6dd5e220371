"""Tables that others write: declared in external_models.yaml, and found in the catalog."""
