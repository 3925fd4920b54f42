"""treadle.link.c.lower: the rules of the C backend, one module for each family of ops.

A rule is called as ``rule(op, node, unit)`` and writes the node's C text into the unit.
"""
