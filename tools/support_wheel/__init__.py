"""The wheel of link-c-support: helper functions of the C backend, compiled beforehand."""
