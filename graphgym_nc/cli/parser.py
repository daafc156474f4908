"""What the parsers of all commands share."""

import argparse


def make_parser(command: str, description: str, example: str) -> argparse.ArgumentParser:
    """A parser whose help ends with an example."""
    return argparse.ArgumentParser(
        prog=f'graphgym-nc {command}',
        description=description,
        epilog=f'example: graphgym-nc {command} {example}',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
