"""`python -m postedit`, for launchers that start a module: `accelerate launch -m postedit train ...`."""

from postedit.cli.main import main

main()
