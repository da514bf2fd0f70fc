"""The HTTP service: bytes in, judgements out. Nobody imports this room but the command line."""
