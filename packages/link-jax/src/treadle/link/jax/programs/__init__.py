"""From a graph to a compiled function: how it is traced, its compiled forms, and how they are called."""
