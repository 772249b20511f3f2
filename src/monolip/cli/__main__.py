"""`python -m monolip.cli` is `monolip`."""

from monolip.cli import main

if __name__ == "__main__":
    main()
