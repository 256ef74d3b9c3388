# The process in which a program runs under the doctor. It is started as a file, so that nothing of
# the program's folder is in Python's path while the doctor itself is imported.
if __name__ == "__main__":
    import os  # Python has it already: nothing is looked for in this folder
    import sys

    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    import retrograd.doctor.watched_process as watched_process

    del sys.path[0]
    sys.exit(watched_process.main(sys.argv[1]))
