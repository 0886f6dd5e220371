from pathlib import Path

from sqlmesh import DatetimeRanges, signal


@signal()
def exported(batch: DatetimeRanges, folder: str) -> bool | DatetimeRanges:
    return Path(folder).exists()
