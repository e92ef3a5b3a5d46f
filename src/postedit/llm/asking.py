"""Ask about segments, several per request, and once more alone after a faulty answer; every outcome is stored."""

import asyncio
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final, NamedTuple

from postedit.llm.answer_store import AnswerStore, Outcome
from postedit.llm.answers import AnswerError, Fault, Item, parse_answer
from postedit.llm.chat_client import Ask, ChatClient, FilteredError, NoReplyError, RejectedError
from postedit.llm.checks import fault_of, kept, prepare
from postedit.llm.endpoint_options import EndpointSpec
from postedit.llm.prices import estimated_tokens
from postedit.llm.prompts import Prompt, Question
from postedit.llm.replies import Reply

_ID_LETTERS: Final = 6
"""Length of the id of a segment in a request. Ids are digests, so that no text can anticipate them."""

_AGAIN: Final = 1000
"""Added to the seed of a second request, so that it differs from those of the first one and of other samples."""

_FRAME_TOKENS: Final = 64  # tokens of an answer without its segments
_ITEM_TOKENS: Final = 48  # tokens of a segment in an answer without its text
_ERROR_TOKENS: Final = 256  # tokens of the errors of a segment
_GROWTH: Final = 3  # most tokens of a correction per estimated token of mt; estimates are off by up to a factor of 2


class Wanted(NamedTuple):
    """An answer to obtain: the question about a segment, and the number of the sample."""

    question: Question
    sample: int


@dataclass(frozen=True, slots=True)
class Asking:
    """Obtains answers about segments from the store or from a server.

    Args:
        spec: the model and the options of requests.
        prompt: prompt of all requests.
        store: store that keeps the outcomes.
    """

    spec: EndpointSpec
    prompt: Prompt
    store: AnswerStore

    def key(self, wanted: Wanted) -> str:
        """Return the key of an answer: a digest of all that it depends on, except the other segments of the request."""
        config = self.spec.config
        values = [
            config.address,
            self.spec.model,
            self.prompt.signature,
            self.prompt.languages,
            [config.temperature, config.seed + wanted.sample, config.structure, config.extra_tokens],
            wanted.question.values,
            config.context_tokens if wanted.question.examples or wanted.question.terms else None,
        ]
        return hashlib.sha256(json.dumps(values, ensure_ascii=True).encode()).hexdigest()

    async def ask_all(self, wanted: Sequence[Wanted], client: Callable[[], ChatClient]) -> list[Outcome]:
        """Return an outcome for each wanted answer, in order; answers in the store are not requested again.

        Before an error is raised, requests under way are completed and their answers are stored.

        Raises:
            BudgetError: if the budget does not suffice.
            EndpointError: if the endpoint cannot be used.
        """
        keys = [self.key(one) for one in wanted]
        by_key = dict(zip(keys, wanted))
        found = self.store.find(by_key)
        fresh = [(key, one) for key, one in by_key.items() if key not in found]
        if any(key not in found or found[key].is_open for key in by_key):
            prepare()
            async with client() as opened:
                work = _Work(self, opened, found)
                await work.run(_batches(fresh, self.spec.config.segments))
                await work.run([[(key, by_key[key])] for key in by_key if found[key].is_open])
        return [found[key] for key in keys]

    def lines(self, batch: Sequence[Wanted], identifiers: Sequence[str]) -> list[dict[str, str]]:
        """Return the messages of a request, with the examples and terms that fit into `context_tokens`."""
        questions = [one.question for one in batch]
        left = self.spec.config.context_tokens
        terms, left = _fitting(list(dict.fromkeys(term.line() for one in questions for term in one.terms)), left)
        examples, _ = _fitting(_by_rank(questions), left)
        segments = [one.line(identifier) for one, identifier in zip(questions, identifiers, strict=True)]
        return self.prompt.messages(segments, examples, terms)

    def answer_tokens(self, questions: Sequence[Question]) -> int:
        """Return the largest number of tokens that an answer to these questions may have."""
        errors = _ERROR_TOKENS if self.prompt.config.answer == "errors" else 0
        texts = sum(_GROWTH * max(estimated_tokens(one.mt), estimated_tokens(one.src)) for one in questions)
        return _FRAME_TOKENS + (_ITEM_TOKENS + errors) * len(questions) + texts + self.spec.config.extra_tokens


_Keyed = tuple[str, Wanted]


@dataclass(slots=True)
class _Work:
    """Sends batches of questions to a server, up to `llm.concurrency` at a time."""

    asking: Asking
    client: ChatClient
    found: dict[str, Outcome]
    stopped: list[BaseException] = field(default_factory=list)

    async def run(self, batches: Sequence[Sequence[_Keyed]]) -> None:
        """Ask about all batches. After an error, start no request, and raise it once those under way have ended."""
        waiting = iter(batches)

        async def worker() -> None:
            for batch in waiting:
                if self.stopped:
                    return
                try:
                    await self._ask(batch)
                except Exception as error:
                    self.stopped.append(error)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(self.asking.spec.config.concurrency, len(batches))):
                tasks.create_task(worker())
        if self.stopped:
            raise self.stopped[0]

    async def _ask(self, batch: Sequence[_Keyed]) -> None:
        """Ask about the segments of a batch in one request, and store the outcome of each."""
        wanted = [one for _, one in batch]
        again = any(self.found.get(key, Outcome()).first is not None for key, _ in batch)
        identifiers = _identifiers([f"again {key}" if again else key for key, _ in batch])
        questions = [one.question for one in wanted]
        seed = self.asking.spec.config.seed + wanted[0].sample + again * _AGAIN
        messages = self.asking.lines(wanted, identifiers)
        answers: list[Item | Fault]
        try:
            reply = await self.client.ask(Ask(messages, self.asking.answer_tokens(questions), len(batch), seed))
            answers = self._checked(reply, identifiers, questions)
        except AnswerError as error:
            answers = [error.fault] * len(batch)
        except FilteredError:
            answers = ["refused"] * len(batch)
        except RejectedError:
            answers = ["rejected"] * len(batch)
        except NoReplyError:
            answers = ["no reply"] * len(batch)
        before = [self.found.get(key, Outcome()) for key, _ in batch]
        outcomes = {
            key: _outcome(answer, known, alone=known.first is not None)
            for (key, _), answer, known in zip(batch, answers, before, strict=True)
        }
        self.asking.store.keep(outcomes)
        least = self.asking.spec.config.least_kept
        self.found.update({key: one.judged(least) for key, one in outcomes.items()})

    def _checked(self, reply: Reply, identifiers: Sequence[str], questions: Sequence[Question]) -> "list[Item | Fault]":
        if reply.refusal or reply.finish == "content_filter":
            raise AnswerError("refused")
        if reply.finish == "length":
            raise AnswerError("cut off")
        prompt = self.asking.prompt
        items = parse_answer(reply.text, identifiers, prompt.config.answer)
        result: list[Item | Fault] = []
        told = [(question, items[one].correction) for one, question in zip(identifiers, questions, strict=True)]
        for place, (question, text) in enumerate(told):
            others = [*told[:place], *told[place + 1 :]]
            # Whether an answer keeps enough of mt is judged when it is used.
            fault = fault_of(question, text, others, prompt.languages[1], least_kept=0.0)
            share = kept(question.mt, text.strip())
            result.append(fault or replace(items[identifiers[place]], kept=share))
        # If one answer has the text of another segment, all others in the request are suspect.
        if len(questions) > 1 and any(one in ("merged", "misplaced") for one in result):
            return [one if isinstance(one, str) else "misplaced" for one in result]
        return result


def _outcome(answer: Item | Fault, known: Outcome, *, alone: bool) -> Outcome:
    if isinstance(answer, Item):
        return Outcome(answer, known.first)
    return Outcome(None, known.first, answer) if alone else Outcome(None, answer)


def _batches(wanted: Sequence[_Keyed], size: int) -> list[list[_Keyed]]:
    """Divide answers into requests for one sample each, in which no two segments have the same mt."""
    batches: list[list[_Keyed]] = []
    of_sample: defaultdict[int, list[list[_Keyed]]] = defaultdict(list)
    # A segment goes to the first request of its sample that has room and does not have its mt. So the full requests
    # come first, and a request with room has every mt of the requests after it.
    full, after = Counter[int](), Counter[tuple[int, str]]()
    for key, one in wanted:
        own, mt = of_sample[one.sample], (one.sample, one.question.mt)
        place = max(full[one.sample], after[mt])
        if place == len(own):
            own.append([])
            batches.append(own[place])
        own[place].append((key, one))
        full[one.sample] += len(own[place]) == size
        after[mt] = place + 1
    return batches


def _identifiers(keys: Sequence[str]) -> list[str]:
    """Return short, distinct ids for the segments of a request."""
    taken: dict[str, None] = {}
    for key in keys:
        digest = hashlib.sha256(f"id {key}".encode()).hexdigest()
        taken[next(_unused_prefixes(digest, taken))] = None
    return list(taken)


def _unused_prefixes(digest: str, taken: dict[str, None]) -> Iterator[str]:
    return (one for one in (digest[:length] for length in count(_ID_LETTERS)) if one not in taken)


def _by_rank(questions: Sequence[Question]) -> list[str]:
    """Return the lines of examples: the best of each segment first, then the second best, and so on."""
    most = max((len(one.examples) for one in questions), default=0)
    ranked = (one.examples[rank].line() for rank in range(most) for one in questions if rank < len(one.examples))
    return list(dict.fromkeys(ranked))


def _fitting(lines: Sequence[str], tokens: int) -> tuple[list[str], int]:
    """Return the lines that fit into `tokens`, chosen in order, and the number of tokens left."""
    kept = []
    for line in lines:
        size = estimated_tokens(line)
        if size <= tokens:
            kept.append(line)
            tokens -= size
    return kept, tokens
