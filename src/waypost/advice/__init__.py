"""What a valid Corefile had better say: advice with stable codes, from the parsed Corefile and facts of files. Pure."""
