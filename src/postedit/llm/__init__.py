"""Editors that use language models behind an endpoint with the OpenAI protocol."""
