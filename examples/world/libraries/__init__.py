"""One module for each library, called as its distribution is; a line of an adapter is counted as it stands, at most 130 wide."""
