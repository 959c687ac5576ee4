"""The machine and the process: the allocator, memory, storage, the interpreter."""
