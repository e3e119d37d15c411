"""The functions of `c_abi.rs`, beside this file."""

import ctypes

_ADDRESS, _SIZE, _POINTER = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p


def library(path):
    """The example `c_abi`, with what its functions take and return."""
    lib = ctypes.CDLL(path)
    for name, result, arguments in (
        ("isopel_open", _POINTER, [ctypes.c_bool, ctypes.c_bool]),
        ("isopel_decode", ctypes.c_bool, [_POINTER, ctypes.c_char_p, _SIZE, _ADDRESS, _SIZE, _POINTER]),
        ("isopel_decode_batch", ctypes.c_bool, [_POINTER, ctypes.c_char_p, _SIZE, _ADDRESS, _SIZE, _SIZE, _POINTER]),
        ("isopel_finish", _SIZE, [_POINTER]),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib
