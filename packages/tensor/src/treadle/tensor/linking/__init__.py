"""What linkers of backends share: tables of scalar functions, random draws and loops in forms that they can write."""
