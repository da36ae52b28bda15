"""The independent oracle of the tests: what caches hold and what attention over
them gives, in NumPy. It shares no code with the compiler and is written to be
obviously right, not fast.

- formats: quantization and dequantization of rows;
- rope: rotary position embeddings;
- cache: page and scale layouts, append, gather, copies;
- attention: float64 attention over the bytes of a cache, and plain attention;
- cases: a seeded generator of test cases that covers all pairs of options.
"""
