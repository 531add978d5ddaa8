"""What people opened, as weak judgements."""
