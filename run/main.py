import os

os.environ.setdefault('GOMP_SPINCOUNT', '10000')  # before torch is loaded: see docs/speed.md

from graphgym_nc.training.run import main

if __name__ == '__main__':
    main()
