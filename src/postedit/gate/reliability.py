"""The reliability diagram: how often changes of a given probability make mt better."""

from pathlib import Path

from postedit.core.files import atomic_write
from postedit.gate.calibrate import Forecasts, binned, expected_calibration_error


def draw(forecasts: Forecasts, path: Path) -> None:
    """Write the diagram as PNG; bins hold equally many changes.

    Raises:
        OutputError: if it cannot be written.
    """
    from matplotlib.figure import Figure

    bins = binned(forecasts)
    figure = Figure(figsize=(4.5, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1, label="calibrated")
    axes.plot([p.mean() for p, _ in bins], [b.mean() for _, b in bins], marker="o", label="gate")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability of being better", ylabel="share that was better")
    error = expected_calibration_error(forecasts)
    axes.set_title(f"{len(forecasts.better):,} changes, expected calibration error {error:.3f}", fontsize=10)
    axes.legend(loc="upper left")
    with atomic_write(path, "wb") as file:
        figure.savefig(file, format="png", dpi=150)
