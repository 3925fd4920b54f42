"""`f.map`: tasks of a function on the workers of executors, pools, joblib and Dask."""
