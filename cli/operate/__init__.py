"""The private server, its services, and the doctor."""
