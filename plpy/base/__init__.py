"""What every room uses: the session, the server's port, settings and their catalogue."""
