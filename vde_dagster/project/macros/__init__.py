"""The macro language of SQL models: tokens in, a syntax tree without macros out."""
