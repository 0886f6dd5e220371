"""What speed is measured with: run by `./run bench`, never by the tests."""
