import sys

from graphgym_nc_command import main

if __name__ == '__main__':
    sys.exit(main(['doctor', *sys.argv[1:]]))
