"""Lines of code that shuffle a stream in a buffer, and shard it across workers and ranks where it does not do so itself."""

from __future__ import annotations

SHUFFLED = '''
import random

from torch.utils.data import IterableDataset


class Shuffled(IterableDataset):
    """The samples of a stream in the order in which they leave a buffer; call set_epoch(epoch) before each epoch."""

    def __init__(self, stream, buffer_size=1000, seed=0):
        self.stream, self.buffer_size, self.seed, self.epoch = stream, buffer_size, seed, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        rng, held = random.Random(f"{self.seed} {self.epoch}"), []
        for sample in self.share():
            if len(held) < self.buffer_size:
                held.append(sample)
                continue
            i = rng.randrange(len(held))
            held[i], sample = sample, held[i]
            yield sample
        rng.shuffle(held)
        yield from held

'''
WHOLE = """    def share(self):
        return iter(self.stream)  # which is shared among workers by the stream itself
"""
SHARE = '''    def share(self):
        """Every so many-th sample: each worker of each rank reads the stream and keeps its own."""
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        return islice(self.stream, rank * workers + worker, None, ranks * workers)
'''


SHARE_BY_RANK = '''    def share(self):
        """Every n-th sample, for n ranks: the stream already shards among workers."""
        rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        return islice(self.stream, rank, None, ranks)
'''


def stream_lines(copied: bool, by_rank: bool = False) -> tuple[str, ...]:
    """``copied``: each worker yields every sample unless the code shards it; ``by_rank``: each rank does."""
    code = SHUFFLED + (SHARE if copied else SHARE_BY_RANK if by_rank else WHOLE)
    if copied or by_rank:
        code = code.replace("import random\n", "import os\nimport random\nfrom itertools import islice\n")
    if copied:
        code = code.replace("import IterableDataset", "import IterableDataset, get_worker_info")
    return (*code.splitlines(), "", "", "dataset = Shuffled(dataset)", "")
