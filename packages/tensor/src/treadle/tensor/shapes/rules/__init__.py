"""Rules for shapes, broadcasting and axes put in another order."""
