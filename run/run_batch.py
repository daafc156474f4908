import sys

from graphgym_nc.batch_runner import main

if __name__ == '__main__':
    sys.exit(main())
