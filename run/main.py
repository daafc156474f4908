import idle_threads  # noqa: F401  # isort: skip

from graphgym_nc.runner import main

if __name__ == '__main__':
    main()
