"""One module a command: read the words, call one function, print."""
