"""PyTorch's private place for parts of the loader that programs import all the same."""

from retrograd.utils.data._utils import collate as collate
from retrograd.utils.data._utils import fetch as fetch
from retrograd.utils.data._utils import worker as worker

# Every so many seconds a waiting worker looks whether its main process is still there.
MP_STATUS_CHECK_INTERVAL = 5.0
