"""What each backend makes of draws; a folder is imported when its backend is used."""
