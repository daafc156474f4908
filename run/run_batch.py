import sys

from graphgym_nc.cli.sweep import main

if __name__ == '__main__':
    sys.exit(main())
