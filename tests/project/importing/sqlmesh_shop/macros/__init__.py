from datetime import date, timedelta

from sqlmesh import macro


@macro()
def days_before(evaluator, day, days):
    """It computes with the day itself."""
    return f"'{date.fromisoformat(str(day).strip(chr(39))) - timedelta(days=int(str(days)))}'"
