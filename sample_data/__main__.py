"""Write every sample file again: ``python -m sample_data``; the seeds make the same bytes each time."""

from sample_data.catalogue import SAMPLES

for sample in SAMPLES.values():
    sample.path.write_text(sample.generator.generate(), encoding="utf-8", newline="\n")
    print(f"{sample.path.name}: {sample.path.stat().st_size:,} bytes")
