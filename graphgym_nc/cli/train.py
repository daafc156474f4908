"""``graphgym-nc train``, and the main of those who register modules of their own."""

from graphgym_nc.training.run import main

__all__ = ['main']

if __name__ == '__main__':
    main()
