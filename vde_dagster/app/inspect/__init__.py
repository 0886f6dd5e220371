"""Looking at what is there: status, intervals, rows, final SQL, differences."""
