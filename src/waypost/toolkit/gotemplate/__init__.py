"""The part of Go's text/template that Corefiles use: lexer, parser, evaluation, the built-in functions."""
