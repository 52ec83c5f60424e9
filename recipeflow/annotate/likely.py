"""Which labels are usual for which tags, so that a page can dim the others. None is forbidden."""

from __future__ import annotations

LIKELY = {
    "F>F": ("F-eq", "other-mod", "F-set", "F-part-of"),
    "F>Ac": ("Targ", "Dest"),
    "F>Af": ("Agent", "Dest"),
    "F>Sf": ("other-mod", "F-part-of", "F-comp"),
    "T>Ac": ("Dest", "T-comp", "Targ"),
    "T>T": ("T-eq", "other-mod"),
    "D>Ac": ("other-mod",),
    "Q>F": ("other-mod",),
    "Q>Ac": ("other-mod",),
    "Q>Sf": ("other-mod",),
    "Q>Q": ("other-mod",),
    "Ac>Ac": ("Targ", "Dest"),
    "Ac>F": ("F-eq", "F-set", "F-part-of"),
    "Ac>Af": ("Agent",),
    "Ac>Sf": ("F-part-of",),
    "Ac>T": ("T-eq",),
    "Af>Ac": ("V-tm", "other-mod", "Dest"),
    "Af>F": ("other-mod",),
    "Af>Sf": ("other-mod",),
    "Af>Af": ("A-eq",),
    "Sf>Ac": ("other-mod", "Targ"),
    "Sf>F": ("other-mod",),
    "Sf>Af": ("Agent", "other-mod"),
    "Sf>Sf": ("other-mod",),
    "St>T": ("other-mod",),
    "St>Ac": ("other-mod",),
}
"""By the tags of start and end, the labels that at least one in a hundred such flows of the official release has, the
most frequent first."""
