"""What each backend makes of the ops of linear algebra; a folder is imported when its backend is used."""
