"""``python -m xladoctor``."""

from xladoctor.cli.main import main

if __name__ == "__main__":
    main()
