"""What each backend makes of signals and Fourier transforms; a folder is imported when its backend is used."""
