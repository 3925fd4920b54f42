"""Local rules at work: which are worth trying on a node, and the list of nodes to try them on."""
