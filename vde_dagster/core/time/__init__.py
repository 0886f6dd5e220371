"""Time: intervals and their units, cron expressions, zones, formats, and what is due when."""
