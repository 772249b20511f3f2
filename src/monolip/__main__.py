"""`python -m monolip` is `monolip`."""

from monolip.cli import main

if __name__ == "__main__":
    main()
