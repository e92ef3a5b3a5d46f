"""Describe an editor so that any process can load it: its models, and what is wrapped around them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from postedit.adapt.adaptation_config import NO_MODEL
from postedit.core.editor import ENDPOINT, OWN_EDITOR, Abilities, Detail, Editor, Identity, PostEdit, Segment
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.quality_tags import TagFiles, show_hints
from postedit.llm.endpoint_options import EndpointSpec
from postedit.text.glossary import Glossary
from postedit.text.span_patterns import KINDS, Kind

if TYPE_CHECKING:
    from postedit.adapt.learning_editor import MemorySpec
    from postedit.text.protected_spans import Value

Dtype = Literal["float32", "bf16", "int8"]
"""Data type of the weights of a model."""

Space = Literal["log", "probability"]
"""What an ensemble averages: log-probabilities or probabilities."""


class Unedited(Editor):
    """Leaves every mt as it is ("do nothing"): the baseline, and a dry run to check files."""

    abilities = Abilities(needs_mt=True)

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return an identity that consists of the name "none"."""
        return Identity(("none",), {})

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the mt of each segment, or an empty text if it has none."""
        return [PostEdit(segment.mt or "", False) for segment in segments]


@dataclass(frozen=True, slots=True)
class EditorSpec:
    """Everything that a process needs to load an editor: the arguments of `PostEditor.load`, `Protected` and `Gated`.

    With a memory, the editor has learnt from it up to one position. With an endpoint, `models` names a model that it
    serves, or the folder of a combination with such a model.
    """

    models: Sequence[str]
    dtype: Dtype = "float32"
    weights: Sequence[float] | None = None
    space: Space = "log"
    gate: Path | None = None
    min_confidence: float = 0.0
    protect: Sequence[Kind] = KINDS
    glossary: Glossary | None = None
    memory: "MemorySpec | None" = None
    endpoint: EndpointSpec | None = None
    passes: int = 1  # maximum number of passes
    tags: TagFiles | None = None  # quality tags that the prompt of the model shows

    def load(self, device: str | None) -> Editor:
        """Load the editor, with everything around it, on a device (None: the default one); see `around`."""
        return self.around(self.load_model(device))

    def around(self, model: Editor) -> Editor:
        """Return a loaded model wrapped in protection, gate and repeated passes, as far as they are set.

        Spans and terms are protected inside the gate, which is made for the protected editor, and once more outside it,
        since the gate may revert one half of an edit that moved a span.
        """
        editor = model if isinstance(model, Unedited) else self._protected(model)
        if self.gate is not None or self.min_confidence:
            from postedit.gate import Gate, Gated

            gate = None if self.gate is None else Gate.load(self.gate)
            editor = self._protected(Gated(editor, gate, self.min_confidence))
        if self.passes == 1:
            return editor
        from postedit.editing.iterated import Iterated

        return Iterated(editor, self.passes)

    def broken_spans(self, src: str, mt: str, text: str) -> "list[Value]":
        """Return the protected spans and terms that a text breaks; see `editing.protection.Protected`."""
        if not self.protect and self.glossary is None:
            return []
        from postedit.editing.span_rule import SpanRule

        return SpanRule(src, mt, frozenset(self.protect), self.glossary).broken(text)

    def load_model(self, device: str | None) -> Editor:
        """Load the model alone, with what it has learnt from the memory and the hints that its prompt shows."""
        if self.endpoint is not None:
            return self._load_endpoint(self.endpoint, device)
        models, dtype = self.models, self.dtype
        own = next((name for name in models if name.startswith(OWN_EDITOR)), None)
        editor: Editor = Unedited()
        if own is not None:
            editor = self._load_own_editor(own)
        elif self.memory is not None:
            editor = self.memory.load(models, device)
        elif list(models) != [NO_MODEL]:
            from postedit.editing.post_editor import PostEditor

            editor = PostEditor.load(*models, device=device, dtype=dtype, weights=self.weights, space=self.space)
        show_hints(editor, self.glossary, None if self.tags is None else self.tags.read())
        return editor

    def _load_own_editor(self, name: str) -> Editor:
        if len(self.models) > 1:
            raise DataError(f"{name}: an editor of your own cannot be part of an ensemble: give it alone")
        if self.memory is not None:
            raise DataError(f"{name}: an editor of your own does not learn from corrections: leave out --memory")
        if self.dtype != "float32":
            raise DataError(f"--dtype {self.dtype}: is for models; {name} is an editor of your own: leave it out")
        from postedit.editing.own_editor import load_own_editor

        return load_own_editor(name)

    def _load_endpoint(self, endpoint: EndpointSpec, device: str | None) -> Editor:
        """Load a model behind an endpoint, or a combination that has such a model among its members."""
        if self.tags and self.tags.tags:
            raise DataError("hints.tags is for language models trained here; for others it is llm.tags")
        if self.models[0].startswith(ENDPOINT):
            from postedit.llm.llm_editor import load_llm

            return load_llm(endpoint, self.glossary, self.memory)
        from postedit.editing.post_editor import devices_of
        from postedit.llm.candidates import load_combination

        if self.memory is not None:
            raise DataError(f"{self.models[0]}: a combination does not learn from corrections: leave out --memory")
        return load_combination(Path(self.models[0]), endpoint, devices_of(device), self.dtype, self.glossary)

    def _protected(self, editor: Editor) -> Editor:
        if not self.protect and self.glossary is None:
            return editor
        from postedit.editing.protection import Protected

        return Protected(editor, self.protect, self.glossary)

    def job(self, editor: Editor, search: SearchConfig, form: str) -> dict[str, Any]:
        """Return what determines the output besides the input, under the names by which differences are reported."""
        identity = editor.identity(search)
        return {
            "model": list(identity.models),
            "weights": self.weights,
            "space": self.space,
            "format": form,
            **({} if self.endpoint is None else self.endpoint.job),
            **{
                f"search.{name}" if name in SearchConfig.model_fields else name: repr(value)
                for name, value in identity.settings.items()
            },
        }


def worker_devices(workers: int | None, devices: str | None) -> list[str | None]:
    """Return the device of each process, after checking that it exists; None stands for the default device."""
    if devices is None:
        return [None] if workers is None else ["cpu"] * workers
    if workers is not None:
        raise DataError("give --workers, for processes on the CPU, or --devices, for one process each, but not both")
    names = [name.strip() for name in devices.split(",")]
    for name in names:
        check_device(name, "--devices")
    return [*names]


def check_device(name: str, option: str) -> None:
    """Raise a DataError if the device that an option names does not exist."""
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise DataError(f'{option}: "{name}" is not a device; write, for instance, cpu or cuda:0') from None
    if device.type == "cpu":
        return
    if not (torch.accelerator.is_available() and torch.accelerator.current_accelerator() == torch.device(device.type)):
        raise DataError(f'{option}: there is no "{name}" here that PyTorch can use; cpu is always available')
    count = torch.accelerator.device_count()
    if (device.index or 0) >= count:
        raise DataError(f'{option}: there is no "{name}"; there are {count} of its kind, counted from 0')
