# The process in which a program runs while it is watched: `process.py MODULE CONFIG`. It is started
# as a file, so that nothing of the program's folder is in Python's path while MODULE is imported.
if __name__ == "__main__":
    import os  # Python has it already: nothing is looked for in this folder
    import sys

    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    import importlib

    module = importlib.import_module(sys.argv[1])
    del sys.path[0]
    sys.exit(module.main(sys.argv[2]))
