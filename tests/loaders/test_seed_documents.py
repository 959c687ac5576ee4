"""Every Python block of the documents that our loaders answer runs with our imports.

The documents lie beside the checkout, in ``../shared/seeds``, where that folder is; they are no part of the project.
What a block leaves open, or takes from elsewhere, is completed by ``COMPLETED``; what it only defines is used there too.
"""

from __future__ import annotations

import gc
import multiprocessing
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dataloader_expert.loaders import CollatorRegistry
from tests.loaders.documents import Block, blocks, installed, run, taken_for_granted
from tests.making.shared import CHECKOUT

DOCUMENTS = {"guide": ("002", 27), "utilities": ("003", 12), "summary": ("004", 4)}
"""Name to the beginning of the file's name, and how many blocks it has."""
FOLDER = CHECKOUT.parent / "shared" / "seeds"
PATHS = {name: next(iter(FOLDER.glob(f"{start}_*.txt")), None) for name, (start, _) in DOCUMENTS.items()}
Key = tuple[str, str, int]
FOUND: dict[Key, Block] = {
    (name, block.heading, block.number): block
    for name, path in PATHS.items()
    if path is not None
    for block in blocks(path.read_text(encoding="utf-8"))
}


@dataclass(frozen=True)
class Completed:
    """What a block lacks.

    Args:
        why: it does not run, or says nothing, as it stands, in a few words; empty where it does.
        before: code that makes names which the block takes for granted.
        replaced: parts of the block that are left open, and what stands there instead.
        then: code that uses what the block made, and says what must hold.
    """

    why: str = ""
    before: str = ""
    replaced: tuple[tuple[str, str], ...] = ()
    then: str = ""


TENSORS = "dataset = TensorDataset(torch.arange(96)[:, None])"
COMPLETED: dict[Key, Completed] = {
    ("guide", "1. DataModuleProtocol", 1): Completed(
        then="assert isinstance(dm, DataModuleProtocol) and len(dm.train_dataloader()) == 1",
    ),
    ("guide", "Usage Examples", 1): Completed(
        then="assert isinstance(collator, LanguageModelingDataCollator)",
    ),
    ("guide", "Usage Examples", 2): Completed(
        then="assert isinstance(collator, VisionDataCollator) and collator.std == (0.5, 0.5, 0.5)",
    ),
    ("guide", "3. Custom Collator Registration", 1): Completed(
        why="it leaves the task's other fields out",
        replaced=(
            (
                "# ... other fields",
                "model_family='encoder_only', input_fields=['waveform'], target_field='label', loss_type='ce', metrics=[]",
            ),
        ),
        then="samples = [{'waveform': torch.ones(1024), 'label': i} for i in range(2)]\n"
        "assert collator(samples)['spectrograms'].shape[:2] == (2, 257) and collator.sample_rate == 22050\n"
        "config = DataLoaderConfig(batch_size=2, num_workers=0)\n"
        "batch, = DataLoaderFactory(registry).create_dataloader(samples, config, audio_task_spec, tokenizer)\n"
        "assert sorted(batch['labels'].tolist()) == [0, 1]",
    ),
    ("guide", "3. Custom Collator Registration", 2): Completed(
        then="collator = registry.get_collator(task_spec=TaskSpec.vision_tiny(), tokenizer=tokenizer)\n"
        "samples = [{'pixel_values': torch.ones(3, 4, 4), 'input_ids': [5] * n} for n in (1, 2)]\n"
        "assert set(collator(samples)) == {'pixel_values', 'input_ids', 'attention_mask', 'labels'}",
    ),
    ("guide", "Basic Usage", 1): Completed(then="assert len(loader) == 4 and batch[0].shape[1:] == (32,)"),
    ("guide", "Automatic GPU Optimizations", 1): Completed(
        then="assert (loader.pin_memory, loader.persistent_workers) == (torch.cuda.is_available(), True)",
    ),
    ("guide", "Reproducibility", 1): Completed(why="it compares tensors of a dataset of tensors", before=TENSORS),
    ("guide", "From HuggingFace Dataset", 1): Completed(
        then="assert input_ids.shape == labels.shape and (labels == -100).any()\n"
        "assert len(val_loader.dataset) == 8 and len(next(iter(val_loader))['labels']) == 8",
    ),
    ("guide", "From PyTorch Dataset", 1): Completed(
        then="assert next(iter(train_loader))['pixel_values'].shape == (32, 3, 224, 224)",
    ),
    ("guide", "With External Validation Set", 1): Completed(
        then="batch = next(iter(data_module.train_dataloader()))\n"
        "assert batch['pixel_values'].shape == (24, 3, 32, 32) and batch['labels'].dtype == torch.int64",
    ),
    ("guide", "Legacy List[Tensor] Support", 1): Completed(
        then="batch, = next(iter(data_module.train_dataloader()))\nassert batch.shape == (32, 128)",
    ),
    ("guide", "With TrainingConfig", 1): Completed(then="assert len(data_module.val_data) == 16"),
    ("guide", "With CheckpointManager", 1): Completed(
        then="assert (data_module.seed, state['custom_state']['epoch_step']) == (42, 9) and path.is_file()",
    ),
    ("guide", "With PyTorch Lightning (Optional)", 1): Completed(
        why="its module has no training step, and its trainer would train a thousand epochs",
        replaced=(
            ("trainer = pl.Trainer()", "trainer = pl.Trainer(**quiet)"),
            ("module = MyLightningModule(data_module)", "module = Trained(MyLightningModule)(data_module)"),
        ),
        before="def Trained(base):\n"
        "    def __init__(self, data_module):\n"
        "        base.__init__(self, data_module)\n"
        "        self.layer, self.seen = torch.nn.Linear(1, 1), []\n"
        "    def training_step(self, batch, number):\n"
        "        self.seen += batch[0].flatten().tolist()\n"
        "        return self.layer(batch[0]).square().mean()\n"
        "    def validation_step(self, batch, number): pass\n"
        "    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=1e-9)\n"
        "    return type('Trained', (base,), {k: v for k, v in locals().items() if k != 'base'})\n"
        "quiet = dict(max_epochs=2, accelerator='cpu', logger=False, enable_checkpointing=False,\n"
        "             enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder)",
        then="assert trainer.current_epoch == 2 and len(module.seen) == 38\n"
        "first, second = module.seen[:19], module.seen[19:]\n"
        "assert sorted(first) == sorted(second) and first != second",
    ),
    ("guide", "2. Use TaskSpec for Auto-Collator Selection", 1): Completed(
        then="assert 'input_ids' in next(iter(data_module.train_dataloader()))",
    ),
    ("guide", "Issue: Non-Reproducible Batch Order", 1): Completed(then="assert len(loader) == 3"),
    ("guide", "Issue: High DataLoader Overhead (>5%)", 1): Completed(then="assert len(result['input_ids']) == 32"),
    ("utilities", "Usage", 1): Completed(
        why="the length that it derives is overwritten in its next lines",
        then="assert epoch_length == 1000 and get_epoch_length(train_dataloader, length=None) == 3",
    ),
    ("utilities", "1. Distributed Sampling", 1): Completed(
        why="it defines a method of a trainer with its own world",
        then="loader, _ = configure_dataloaders(self)\n"
        "self.world = SimpleNamespace(size=2, rank=1)\n"
        "part, _ = configure_dataloaders(self)\n"
        "assert (len(loader), len(part)) == (3, 2)\n"
        "assert get_val_dataloader_steps(part, dp_size=2) == (2, 0)",
    ),
    ("utilities", "2. Efficient Data Loading", 1): Completed(
        why="its dataset may be any that stacks",
        before=TENSORS,
        then="assert len(dataloader) == 12",
    ),
    ("utilities", "3. Stateful DataLoaders", 1): Completed(
        why="it defines a class without using it: with a sampler of ours, and beside ours",
        before="from dataloader_expert.samplers import ShuffleSampler\nOurs = loaders.StatefulDataLoader",
        then="def made(kind): return kind(range(8), batch_size=2, sampler=ShuffleSampler(8, num_replicas=1))\n"
        "whole = [b.tolist() for b in made(Ours)]\n"
        "first, theirs, ours = made(StatefulDataLoader), made(StatefulDataLoader), made(Ours)\n"
        "batches = iter(first)\n"
        "seen = [next(batches).tolist() for _ in range(2)]\n"
        "state = first.state_dict()\n"
        "for other in (theirs, ours):\n"
        "    other.load_state_dict(state)\n"
        "    assert seen + [b.tolist() for b in other] == whole",
    ),
    ("utilities", "4. Memory-Efficient Loading", 1): Completed(
        why="it calls a method that it does not have",
        replaced=(("(IterableDataset)", "(Fetched)"),),
        then="assert list(dataloader) == ['first', 'second']\n"
        "ours = DataLoader(loaders.StreamingDataset(urls, shuffle=False), batch_size=None, num_workers=1)\n"
        "assert list(ours) == ['first', 'second']",
    ),
    ("utilities", "Integration with Trainer", 1): Completed(
        why="it defines a trainer whose parameters it does not show",
        then="MyTrainer.config = SimpleNamespace(training_parameters=SimpleNamespace(train_steps_per_epoch=2))\n"
        "trainer = MyTrainer()\n"
        "trainer._setup_dataloaders()\n"
        "assert (trainer._num_train_steps, trainer._num_val_steps) == (2, 3)\n"
        "assert len(trainer.train_dataloader) == 3",
    ),
    ("utilities", "Collate Functions", 1): Completed(
        why="its samples have three fields",
        before="dataset = [{'input': torch.ones(2), 'target': torch.ones(1), 'sequence': torch.ones(n)} for n in (1, 3)]",
        then="batch, = dataloader\nassert batch['sequences'].tolist() == [[1, 0, 0], [1, 1, 1]]",
    ),
    ("utilities", "Batch Transformations", 1): Completed(
        why="it defines a class without using it: beside ours",
        then="samples = [{'text': 'the cat', 'label': 1}, {'text': 'dog', 'label': 0}]\n"
        "theirs, ours = BatchTransform(tokenizer)(samples), loaders.BatchTransform(tokenizer)(samples)\n"
        "assert all(torch.equal(theirs[name], ours[name]) for name in theirs)",
    ),
    ("utilities", "1. Prefetching", 1): Completed(why="its dataset may be any that stacks", before=TENSORS),
    ("utilities", "2. Avoid Bottlenecks", 1): Completed(
        why="it defines a function without using it: beside ours",
        then="profile_dataloader(train_loader)\nassert loaders.profile_dataloader(train_loader).batches == 3",
    ),
    ("utilities", "3. Data Pipeline Optimization", 1): Completed(
        why="it compiles a pipeline without using it",
        before="from PIL import Image",
        then="assert transform_pipeline(Image.new('RGB', (9, 9))).shape == (3, 224, 224)",
    ),
    ("summary", "1. SeedManager Integration", 1): Completed(
        why="its dataset may be any that stacks",
        before=TENSORS,
        then="assert len(list(loader)) == 96",
    ),
    ("summary", "2. TaskSpec Integration", 1): Completed(
        why="it is the body of a function: it returns",
        before="task_spec = TaskSpec.vision_tiny()\n"
        "task_spec.preprocessing_config = {'mean': [0.5] * 3, 'std': [0.25] * 3}",
        replaced=(("    return VisionDataCollator(", "    collator = VisionDataCollator("),),
        then="assert (collator.mean, collator.std) == ((0.5,) * 3, (0.25,) * 3)\n"
        "assert registry.get_collator(task_spec=task_spec).mean == collator.mean",
    ),
    ("summary", "Backward Compatibility", 1): Completed(
        then="old = DataLoader(train_data, batch_size=32, shuffle=True, generator=create_seeded_generator(42))\n"
        "new = UniversalDataModule(train_data, batch_size=32, seed=42, val_split=0, num_workers=0).train_dataloader()\n"
        "assert all(torch.equal(a, b) for a, (b,) in zip(old, new, strict=True))",
    ),
}
ELSEWHERE = (
    "'pin_memory' argument is set as true but no accelerator",  # plain DataLoaders that pin, on any machine
    "This DataLoader will create",  # plain DataLoaders with more workers than this machine has cores
    "`torch.jit.script_method` is deprecated",  # torch.compile of itself
)
OF_LIGHTNING = (
    r"(?s).*(does not have many workers|number of training batches|`isinstance\(treespec|litlogger|GPU available)"
)


@pytest.fixture
def own_registry() -> Iterator[None]:
    """Collators that a document registers are gone behind it."""
    CollatorRegistry.reset()
    yield
    CollatorRegistry.reset()


def complete(block: Block, more: Completed) -> str:
    """The block with its open parts filled."""
    text = block.text
    for open_part, filled in more.replaced:
        assert open_part in text
        text = text.replace(open_part, filled)
    return text


MADE = """# Title

```bash
# no heading
```

## Use

```python
from utils.training.engine.data import DataLoaderConfig
# no heading
```

```python
size = DataLoaderConfig(batch_size=5).batch_size
```
"""


def test_blocks_are_found_and_run_with_our_imports() -> None:
    """Of this file itself: Python alone, by heading and number."""
    first, second = blocks(MADE)
    assert [(b.heading, b.number) for b in (first, second)] == [("Use", 1), ("Use", 2)]
    names: dict[str, object] = {}
    run(first.text + second.text, names, "made")
    assert names["size"] == 5


def test_no_document_s_block_is_left_out() -> None:
    """Each document that is here has all of its blocks, and each completion is of one of them."""
    here = {name for name, path in PATHS.items() if path is not None}
    counts = {name: sum(key[0] == name for key in FOUND) for name in here}
    assert counts == {name: DOCUMENTS[name][1] for name in here}
    assert {key for key in COMPLETED if key[0] in here} <= FOUND.keys()
    assert [key for key, more in COMPLETED.items() if (more.before or more.replaced) and not more.why] == []


if FOUND:

    @pytest.mark.journey
    @pytest.mark.parametrize("key", FOUND, ids=[f"{name}: {heading} {number}" for name, heading, number in FOUND])
    @pytest.mark.usefixtures("own_registry")
    def test_a_block_of_a_document_runs(key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The documents' promise: their examples run."""
        monkeypatch.chdir(tmp_path)
        more, title = COMPLETED.get(key, Completed()), " ".join(map(str, key))
        names = taken_for_granted(tmp_path)
        with warnings.catch_warnings():
            for message in (*ELSEWHERE, *([OF_LIGHTNING] if "Lightning" in title else [])):
                warnings.filterwarnings("ignore", message=message)
            installed(monkeypatch, FOUND[key].text)
            run(more.before, names, f"before {title}")
            run(complete(FOUND[key], more), names, title)
            run(more.then, names, f"behind {title}")
        names.clear()
        if multiprocessing.active_children():  # a block's functions hold its loaders in a circle: end their workers
            gc.collect()  # now, and not whenever another test imports something
