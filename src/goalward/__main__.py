"""``python -m goalward`` is ``goalward``."""

from goalward.cli import main

if __name__ == "__main__":
    main()
