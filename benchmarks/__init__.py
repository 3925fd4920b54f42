"""Measurements: ``./dev bench [import|compile|call|run|rewrite|memory]``."""
