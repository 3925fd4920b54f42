"""Names of this package that `treadle.tensor` has too, so that programs start with one import."""

NAMES = {
    "treadle.tensor": {
        "treadle.compile": (
            "DebugMode FAST_COMPILE FAST_RUN Function In Mode MonitorMode NanGuardMode Out compiled function "
            "get_default_mode"
        ),
    },
}
