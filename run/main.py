from graphgym_nc.runner import main

if __name__ == '__main__':
    main()
