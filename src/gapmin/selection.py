"""What `gapmin.selection` was is `gapmin.transfer`."""

raise ImportError("gapmin.selection is gone: import from gapmin.transfer, and read evidence_ in place of a verdict")
