"""treadle.link.c.support: two small shared libraries that make programs quicker, compiled in the background."""
