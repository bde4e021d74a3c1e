from headstart.cli import main

main()
