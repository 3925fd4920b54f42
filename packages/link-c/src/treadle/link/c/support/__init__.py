"""treadle.link.c.support: two small shared libraries that make programs faster, compiled in the background."""
