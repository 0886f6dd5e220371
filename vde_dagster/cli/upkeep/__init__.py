"""Commands for what went wrong, what nobody needs any more, and whether all is there."""
