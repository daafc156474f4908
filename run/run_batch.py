import sys

from graphgym_nc_command import main

if __name__ == '__main__':
    sys.exit(main(['sweep', *sys.argv[1:]]))
