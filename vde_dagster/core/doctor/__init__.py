"""What `vde doctor` concludes from what it saw: pure judgements on measured facts."""
