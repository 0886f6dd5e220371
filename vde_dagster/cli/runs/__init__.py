"""Commands that compute what an environment shows, or keep from it."""
