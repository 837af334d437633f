"""Digests of arrays: what differs in anything has another name."""

from __future__ import annotations

import numpy as np

from fedtext.federation.digest import digest


def test_digests_tell_shape_type_order_and_bytes_apart() -> None:
    base = np.arange(6.0)
    different = [
        (base,),
        (base.reshape(2, 3),),
        (base.reshape(3, 2),),
        (base.astype(np.float32),),
        (base[:3], base[3:]),
        (base[3:], base[:3]),
        (base + 1e-16 + 1e-15,),
        (base.view(np.int64),),
        (),
    ]
    assert len({digest(*arrays) for arrays in different}) == len(different)
    assert digest(base) == digest(base.copy())
    assert digest(np.asfortranarray(base.reshape(2, 3))) == digest(base.reshape(2, 3))
