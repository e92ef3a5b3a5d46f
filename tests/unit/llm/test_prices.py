"""Costs, and the bound on the tokens of a prompt."""

import json

from postedit.llm.prices import Price, most_prompt_tokens


def test_prompts_and_answers_have_their_own_prices() -> None:
    assert Price(input=1.0, output=4.0).cost(3_000_000, 500_000) == 3.0 + 2.0


def test_no_tokeniser_makes_more_tokens_of_a_prompt_than_its_bytes() -> None:
    messages = [{"role": "system", "content": "ä€🙂"}, {"role": "user", "content": "a"}]
    schema = {"type": "object"}
    least = len("ä€🙂a".encode())
    assert most_prompt_tokens(messages, None) > least
    assert most_prompt_tokens(messages[:1], None) - most_prompt_tokens([{"role": "system", "content": ""}], None) == 9
    assert most_prompt_tokens(messages, schema) == most_prompt_tokens(messages, None) + len(json.dumps(schema))
