"""What every command needs: the database, errors, output, options."""
