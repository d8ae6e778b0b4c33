"""What the maintainers of this project run by hand; nothing of it is installed."""
