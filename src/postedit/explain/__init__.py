"""Why an output is what it is: word differences, evidence at word level, and a page that shows both."""
