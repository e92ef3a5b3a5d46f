"""Language models behind an endpoint that speaks the protocol of OpenAI, as editors."""
