"""What every test process needs before the first test module is imported."""

from importlib.util import find_spec

# The tests of tools/ import pip, after which Python 3.11 refuses to load setuptools, which PyTorch's compiler needs:
# so setuptools comes first.
if find_spec("setuptools") is not None:
    import setuptools  # noqa: F401 - for what loading it does
